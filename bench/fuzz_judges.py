"""What must hold of any body: it is read or refused, and both decoders say the same of it."""

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from fuzz_bodies import (
    START_NS,
    event_batches,
    export_changed,
    exports,
    json_changed,
    json_exports,
)

from hone.common.errors import InvalidError
from hone.traces.core import wire
from hone.traces.core.dialects import spans_of
from hone.traces.core.fit import fitted
from hone.traces.core.legacy import (
    TRACE,
    Event,
    State,
    event_of,
    folded,
    observation_span,
    trace_span,
)
from hone.traces.core.otlp import Malformed, decode
from hone.traces.core.part import Part, TraceKey, disjoint, parts_of
from hone.traces.core.prices import Book
from hone.traces.core.row import COLUMNS
from hone.traces.core.summary import merged

EVER: Final = (0, 2**62)
PROJECT: Final = 3
_book: Final = Book()


def reference(body: bytes, *, is_json: bool = False) -> list[Part]:
    """The parts as Python reads them; raises Malformed."""
    decoded = decode(body, is_json=is_json, now_ns=START_NS)
    return parts_of(PROJECT, [fitted(_book.priced(span)) for span in spans_of(decoded.spans)])


def rows(parts: list[Part]) -> dict[tuple[bytes, bytes], dict[str, Any]]:
    """Rows by trace and span."""
    return {
        (part.key[1], span_id): dict(zip(COLUMNS, values, strict=True))
        for part in parts
        for span_id, values in zip(part.span_ids(), part.values(), strict=True)
    }


def joined(parts: list[Part]) -> list[Part]:
    """The parts as a batch writes them: of spans with one id, one stands."""
    by_trace: dict[TraceKey, list[Part]] = {}
    for part in parts:
        by_trace.setdefault(part.key, []).append(part)
    return [part for found in by_trace.values() for part in disjoint(found)]


def judge_protobuf(body: bytes) -> None:
    """Native and Python give the same rows and summaries, or refuse together."""
    found = wire.parts_decode(body, PROJECT, _book, START_NS, EVER)
    encoded, rest = found or ([], body)
    parts = [Part((PROJECT, trace), taken, summary) for trace, taken, summary in encoded]
    try:
        left = reference(rest) if rest else []
    except Malformed:
        left = None
    try:
        wanted = reference(body)
    except Malformed:
        assert left is None, "a body is taken that the reference refuses"
        return
    assert left is not None, "a body is refused that the reference takes"
    assert rows(joined(parts + left)) == rows(wanted)
    others = {part.key for part in left}
    summaries = {part.key: part.summary for part in wanted}
    for part in parts:
        assert part.key in others or part.summary == summaries[part.key]
    storable(wanted)


def judge_json(body: bytes) -> None:
    """OTLP/JSON is read or refused, and what is read can be stored."""
    try:
        storable(reference(body, is_json=True))
    except Malformed:
        return


def judge_events(body: bytes) -> None:
    """Events of the older protocol say the same in both directions, and can be stored."""
    try:
        entries = json.loads(body)
    except (ValueError, RecursionError):
        return
    events = []
    for entry in entries if isinstance(entries, list) else ():
        try:
            events.append(event_of(entry, START_NS))
        except InvalidError:
            continue
    forward, backward = told(events), told(events[::-1] + events)
    assert forward == backward, "the order of events matters"
    storable(parts_of(PROJECT, [fitted(_book.priced(span)) for span in forward]))


def told(events: list[Event]) -> list[Any]:
    """The spans that events make."""
    states: dict[tuple[bool, str], State] = {}
    for event in events:
        if event.kind in ("trace", "observation"):
            key = (event.kind == TRACE, event.entity_id)
            states[key] = folded(states.get(key, {}), event)
    made = []
    for (is_trace, name), state in sorted(states.items()):
        state = json.loads(json.dumps(state))  # it is kept as JSON between batches
        trace_id = "ab" * 16
        made.append(trace_span(trace_id, state) if is_trace else observation_span(name, state))
    return made


def storable(parts: list[Part]) -> None:
    """Texts are such as PostgreSQL holds, numbers fit, and summaries merge."""
    for part in parts:
        for values in part.values():
            for value in values:
                if isinstance(value, str):
                    assert "\x00" not in value
                    value.encode()
                elif isinstance(value, int):
                    assert -(2**63) <= value < 2**63
        assert merged(part.summary, part.summary).observation_count == 2 * len(part.rows)


class Target(NamedTuple):
    """One kind of body."""

    seeds: Callable[[], list[bytes]]
    changed: Callable[..., bytes]
    judge: Callable[[bytes], None]


TARGETS: Final = {
    "protobuf": Target(exports, export_changed, judge_protobuf),
    "json": Target(json_exports, json_changed, judge_json),
    "events": Target(event_batches, json_changed, judge_events),
}
