"""The REST edge of prompts."""
