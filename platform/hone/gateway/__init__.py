"""The /v1 door: OpenAI-style requests, relayed and traced."""
