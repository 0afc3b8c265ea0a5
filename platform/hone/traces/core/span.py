"""The value every door hands inward: one finished span, whatever dialect it arrived in."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

TYPES: Final = frozenset(
    {
        "span",
        "generation",
        "event",
        "tool",
        "retriever",
        "agent",
        "chain",
        "embedding",
        "evaluator",
        "guardrail",
    }
)
STATUSES: Final = frozenset({"unset", "ok", "error"})
LEVELS: Final = frozenset({"DEBUG", "DEFAULT", "WARNING", "ERROR"})

_NOTHING: Final[Mapping[str, object]] = {}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at one moment inside a span, such as an exception."""

    name: str
    time_ns: int
    attributes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One finished observation.

    Times are unix nanoseconds. `input` and `output` are text: a string as it is, anything
    else as JSON (`core.text.payload_text`). `usage` counts tokens in disjoint parts (`input`,
    `input_cached_tokens`, `output`, `output_reasoning_tokens`, ...) plus `total`. `cost` is
    in USD (`input`, `output`, `total`); None means unknown, which is not 0.
    """

    trace_id: str  # 32 lowercase hex digits
    span_id: str  # 16 lowercase hex digits
    name: str
    start_ns: int
    end_ns: int
    parent_span_id: str | None = None
    type: str = "span"  # one of TYPES
    status: str = "unset"  # one of STATUSES
    status_message: str | None = None
    level: str = "DEFAULT"  # one of LEVELS
    model: str | None = None
    model_parameters: Mapping[str, object] = field(default_factory=dict)
    input: str | None = None
    output: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    attributes: Mapping[str, object] = field(default_factory=dict)
    events: Sequence[Event] = ()
    usage: Mapping[str, int] | None = None
    cost: Mapping[str, Decimal] | None = None
    first_token_ns: int | None = None
    prompt_name: str | None = None
    prompt_version: int | str | None = None
    session_id: str | None = None
    user_id: str | None = None
    environment: str | None = None  # None reads as "default"
    release: str | None = None
    version: str | None = None
    tags: Sequence[str] = ()
    trace_name: str | None = None  # names the whole trace, over the root span's name
    scope: str | None = None  # the instrumentation that made it

    def __post_init__(self) -> None:
        assert len(self.trace_id) == 32, self.trace_id
        assert len(self.span_id) == 16, self.span_id
        assert self.parent_span_id is None or len(self.parent_span_id) == 16, self.parent_span_id
        assert 0 <= self.start_ns <= self.end_ns, (self.start_ns, self.end_ns)
        assert self.type in TYPES, self.type
        assert self.status in STATUSES, self.status
        assert self.level in LEVELS, self.level
        assert not self.cost or "total" in self.cost, self.cost

    @property
    def is_error(self) -> bool:
        return self.status == "error" or self.level == "ERROR"


def trace_id_new(randbytes: Callable[[int], bytes] = os.urandom) -> str:
    """A fresh trace id of 32 hex digits."""
    return randbytes(16).hex()


def span_id_new(randbytes: Callable[[int], bytes] = os.urandom) -> str:
    """A fresh span id of 16 hex digits."""
    return randbytes(8).hex()
