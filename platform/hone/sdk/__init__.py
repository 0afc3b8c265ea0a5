"""Hone's SDK: traces, scores and prompts of any Python application.

    import hone.sdk as hone

    hone.init("https://hone.example.com", secret_key="sk-hone-…")

    @hone.observe
    def answer(question: str) -> str: ...

Without `init` everything here does nothing and costs next to nothing.
"""

from hone.sdk.blocks import generation, span
from hone.sdk.client import flush, init, shutdown, stats
from hone.sdk.context import carry, continued, headers_out, propagate
from hone.sdk.delivery import Stats
from hone.sdk.observation import Observation, current
from hone.sdk.observe import observe
from hone.sdk.prompts import Prompt, PromptError, get_prompt
from hone.sdk.scores import score

__all__ = [
    "Observation",
    "Prompt",
    "PromptError",
    "Stats",
    "carry",
    "continued",
    "current",
    "flush",
    "generation",
    "get_prompt",
    "headers_out",
    "init",
    "observe",
    "propagate",
    "score",
    "shutdown",
    "span",
    "stats",
]
