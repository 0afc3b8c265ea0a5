"""The parts in which tokens are counted, and how senders also write them."""

from collections.abc import Mapping
from typing import Final

# Names that are also used -> ours.
ALIASES: Final[Mapping[str, str]] = {
    "input_tokens": "input",
    "prompt_tokens": "input",
    "output_tokens": "output",
    "completion_tokens": "output",
    "total_tokens": "total",
    "cache_read_input_tokens": "input_cached_tokens",
    "input_cache_read": "input_cached_tokens",
    "input_cached": "input_cached_tokens",
    "cached_tokens": "input_cached_tokens",
    "cache_creation_input_tokens": "input_cache_creation",
    "input_cache_creation_5m": "input_cache_creation",
    "input_cache_write": "input_cache_creation",
    "reasoning_tokens": "output_reasoning_tokens",
    "output_reasoning": "output_reasoning_tokens",
}


def side_of(part: str) -> str:
    """The side of a part of a usage: "input", "output", or "" for neither."""
    name = ALIASES.get(part, part)
    return next((side for side in ("input", "output") if name.startswith(side)), "")
