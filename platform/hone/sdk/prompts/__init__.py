"""Prompts kept on the server, fetched by name and kept at hand."""

from hone.sdk.prompts.fetch import get_prompt
from hone.sdk.prompts.prompt import Prompt, PromptError

__all__ = ["Prompt", "PromptError", "get_prompt"]
