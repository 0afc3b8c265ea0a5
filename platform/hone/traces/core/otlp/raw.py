"""What an export says, before any dialect is read into it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hone.traces.core.span import Event

MAX_NS: Final = 2**63 - 1
_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16
_HEX: Final = frozenset("0123456789abcdef")


class Malformed(ValueError):
    """The export as a whole cannot be read; the message says where."""


class Scope(NamedTuple):
    """The instrumentation library."""

    name: str
    version: str
    attributes: Mapping[str, object]


class RawSpan(NamedTuple):
    """One span as sent: ids are lowercase hex, times unix nanoseconds with end >= start."""

    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: int
    start_ns: int
    end_ns: int
    status_code: int  # 0 unset, 1 ok, 2 error
    status_message: str
    attributes: dict[str, object]
    events: Sequence[Event]
    links: Sequence[Mapping[str, object]]
    resource: Mapping[str, object]
    scope: Scope


@dataclass(slots=True)
class Decoded:
    """The spans that can be read, and for each whose time cannot be why not."""

    spans: list[RawSpan] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def ids_check(trace_id: str, span_id: str) -> None:
    """Raises Malformed for ids that cannot name a span: who writes them wrongly sent no traces."""
    problem = id_problem(trace_id, span_id)
    if problem is not None:
        raise Malformed(f"{problem}; nothing of the export is stored")


def id_problem(trace_id: str, span_id: str) -> str | None:
    """Why these ids cannot name a span, if they cannot."""
    if len(trace_id) != 32 or trace_id == _NO_TRACE or not _HEX.issuperset(trace_id):
        return f"traceId {trace_id[:64]!r}: wanted 32 hex digits, not all zero"
    if len(span_id) != 16 or span_id == _NO_SPAN or not _HEX.issuperset(span_id):
        return f"spanId {span_id[:64]!r}: wanted 16 hex digits, not all zero"
    return None


def times_settled(start_ns: int, end_ns: int, now_ns: int) -> tuple[int, int]:
    """Start and end, one standing in for the other where missing (0), end never first."""
    start = start_ns or end_ns or now_ns
    return start, max(start, end_ns)
