"""A trace in one row, as a fold over its spans that does not depend on their order.

`merged` is associative, commutative and has `summary_of` as its homomorphism: however the spans of
a trace are cut into batches and in whatever order these arrive, the same summary comes out, as long
as no span is counted twice (the writer sees to that). Where one of several spans must be chosen,
a key decides: bytes whose order is the preference.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from heapq import nsmallest
from typing import Final, TypeVar

from hone.traces.core.preview import preview
from hone.traces.core.span import Span
from hone.traces.core.tokens import side_of

MAX_SET: Final = (
    50  # models, tags and prompts kept on a trace: the smallest ones, so that order is no matter
)
_LATEST: Final = 2**63 - 1

Order = tuple[bool, int, str]
Keyed = tuple[bytes, str | None]  # preference (smallest wins) and value
T = TypeVar("T", int, str)


@dataclass(frozen=True, slots=True)
class Summary:
    """All that the list of traces shows. Times are unix microseconds."""

    started_us: int
    ended_us: int
    latest_start_us: int  # of any span: with started_us it bounds where the spans lie
    first_token_us: int | None
    name: Keyed
    input: Keyed | None
    output: Keyed | None
    user_id: str | None
    session_id: str | None
    environment: str | None
    release: str | None
    version: str | None
    models: tuple[str, ...]
    tags: tuple[str, ...]
    prompts: tuple[str, ...]  # name@version
    observation_count: int
    error_count: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    decode_tokens: int  # output tokens whose time is known ...
    decode_us: int  # ... and that time
    cost: Decimal | None  # of the priced ones; None where none is
    unpriced_count: int  # observations with usage and no cost


def summary_of(
    spans: Iterable[Span],
    read_input: Callable[[Span], str | None] = lambda span: span.input,
    read_output: Callable[[Span], str | None] = lambda span: span.output,
) -> Summary:
    """The summary of distinct spans of one trace, at least one.

    The readers fetch the payload of the one span that is shown, where spans come without.
    """
    spans = list(spans)
    asked = _first([s for s in spans if s.input is not None], _early)
    answered = _first([s for s in spans if s.output is not None], _late)
    named = _first([s for s in spans if s.trace_name] or spans, _early)
    assert named is not None, "a trace without spans"
    counted = [(s, token_counts(s)) for s in spans if s.usage]
    timed = [(n[1], _decode_us(s)) for s, n in counted if s.type == "generation"]
    costs = [s.cost["total"] for s in spans if s.cost]
    starts = [s.start_ns for s in spans]
    return Summary(
        started_us=min(starts) // 1000,
        ended_us=max([s.end_ns for s in spans]) // 1000,
        latest_start_us=max(starts) // 1000,
        first_token_us=_first_token_us(spans),
        name=(_name_key(named), named.trace_name or named.name),
        input=(_bytes(_early(asked)), preview(read_input(asked), of_input=True)) if asked else None,
        output=(_bytes(_late(answered)), preview(read_output(answered), of_input=False))
        if answered
        else None,
        user_id=_smallest([s.user_id for s in spans]),
        session_id=_smallest([s.session_id for s in spans]),
        environment=_smallest([s.environment for s in spans]),
        release=_smallest([s.release for s in spans]),
        version=_smallest([s.version for s in spans]),
        models=_some([s.model for s in spans]),
        tags=_some([tag for s in spans for tag in s.tags]),
        prompts=_some([_prompt(s) for s in spans if s.prompt_name]),
        observation_count=len(spans),
        error_count=len([s for s in spans if s.is_error]),
        input_tokens=sum([n[0] for _, n in counted]),
        output_tokens=sum([n[1] for _, n in counted]),
        total_tokens=sum([n[2] for _, n in counted]),
        decode_tokens=sum([count for count, _ in timed]),
        decode_us=sum([us for _, us in timed]),
        cost=sum(costs, Decimal(0)) if costs else None,
        unpriced_count=len([s for s, _ in counted if not s.cost]),
    )


def _first(spans: list[Span], key: Callable[[Span], Order]) -> Span | None:
    return min(spans, key=key) if len(spans) > 1 else spans[0] if spans else None


def merged(one: Summary, other: Summary) -> Summary:
    """The summary of both sets of spans, which must be disjoint."""
    return Summary(
        started_us=min(one.started_us, other.started_us),
        ended_us=max(one.ended_us, other.ended_us),
        latest_start_us=max(one.latest_start_us, other.latest_start_us),
        first_token_us=_smallest((one.first_token_us, other.first_token_us)),
        name=min(one.name, other.name, key=_key),
        input=_preferred(one.input, other.input),
        output=_preferred(one.output, other.output),
        user_id=_smallest((one.user_id, other.user_id)),
        session_id=_smallest((one.session_id, other.session_id)),
        environment=_smallest((one.environment, other.environment)),
        release=_smallest((one.release, other.release)),
        version=_smallest((one.version, other.version)),
        models=_some(one.models + other.models),
        tags=_some(one.tags + other.tags),
        prompts=_some(one.prompts + other.prompts),
        observation_count=one.observation_count + other.observation_count,
        error_count=one.error_count + other.error_count,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        total_tokens=one.total_tokens + other.total_tokens,
        decode_tokens=one.decode_tokens + other.decode_tokens,
        decode_us=one.decode_us + other.decode_us,
        cost=_sum(one.cost, other.cost),
        unpriced_count=one.unpriced_count + other.unpriced_count,
    )


def token_counts(span: Span) -> tuple[int, int, int]:
    """Input, output and total tokens, cached and reasoning ones included in their side."""
    if not span.usage:
        return 0, 0, 0
    given = sum(n for part, n in span.usage.items() if side_of(part) == "input")
    answer = sum(n for part, n in span.usage.items() if side_of(part) == "output")
    return given, answer, span.usage.get("total", given + answer)


def _decode_us(span: Span) -> int:
    """Time spent producing tokens: from the first one where it is known, else from the start."""
    since = span.start_ns if span.first_token_ns is None else span.first_token_ns
    return max(0, span.end_ns // 1000 - since // 1000)


def _first_token_us(spans: list[Span]) -> int | None:
    times = [s.first_token_ns for s in spans if s.first_token_ns is not None]
    return min(times) // 1000 if times else None


def _early(span: Span) -> Order:
    """Roots before others, then the earliest."""
    return span.parent_span_id is not None, span.start_ns // 1000, span.span_id


def _late(span: Span) -> Order:
    """Roots before others, then the one that ended last."""
    return span.parent_span_id is not None, _LATEST - span.end_ns // 1000, span.span_id


def _name_key(span: Span) -> bytes:
    """A name given to the trace itself before any span's own."""
    return (b"\0" if span.trace_name else b"\1") + _bytes(_early(span))


def _bytes(order: Order) -> bytes:
    """The same order as bytes, which end in the span's id."""
    rank, number, span_id = order
    return (b"\1" if rank else b"\0") + number.to_bytes(8) + bytes.fromhex(span_id)


def _key(keyed: Keyed) -> bytes:
    return keyed[0]


def _preferred(one: Keyed | None, other: Keyed | None) -> Keyed | None:
    return min(one, other, key=_key) if one and other else one or other


def _smallest(values: Iterable[T | None]) -> T | None:
    found = [value for value in values if value is not None]
    return min(found) if found else None


def _some(values: Iterable[str | None]) -> tuple[str, ...]:
    found = {value for value in values if value}
    if not found:
        return ()
    return tuple(sorted(found) if len(found) <= MAX_SET else nsmallest(MAX_SET, found))


def _prompt(span: Span) -> str:
    return f"{span.prompt_name}@{'' if span.prompt_version is None else span.prompt_version}"


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return one + other if one is not None and other is not None else one if other is None else other
