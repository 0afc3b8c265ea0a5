"""An OTLP export as parts of traces that can be stored: by the extension or the reference."""

from dataclasses import dataclass

from hone.common import clock
from hone.traces.core.dialects import spans_of
from hone.traces.core.otlp import decode
from hone.traces.core.part import Part, parts_of
from hone.traces.core.wire import is_built, parts_decode
from hone.traces.services.ingest import spans_sorted
from hone.traces.services.intake import Intake
from hone.traces.services.partitions import window_us
from hone.traces.services.taps import span_taps


@dataclass(frozen=True, slots=True)
class Export:
    """What can be stored, and why the rest cannot."""

    parts: list[Part]
    refused: list[str]


def export_read(intake: Intake, body: bytes, *, is_json: bool) -> Export:
    """The parts of a serialized export; raises Malformed when it cannot be read as a whole."""
    if is_json or intake.masks or not is_built():
        return _reference(intake, body, is_json=is_json)
    found = parts_decode(
        body,
        intake.project_id,
        intake.book,
        clock.now_ns(),
        window_us(clock.now()),
        left=span_taps.keys(),
    )
    if found is None:
        return _reference(intake, body, is_json=False)
    encoded, rest = found
    parts = [Part((intake.project_id, trace), rows, summary) for trace, rows, summary in encoded]
    if not rest:
        return Export(parts, [])
    other = _reference(intake, rest, is_json=False)
    return Export(parts + other.parts, other.refused)


def _reference(intake: Intake, body: bytes, *, is_json: bool) -> Export:
    decoded = decode(body, is_json=is_json, now_ns=clock.now_ns())
    accepted, refused = spans_sorted(intake, spans_of(decoded.spans))
    parts = parts_of(intake.project_id, accepted, taps=span_taps)
    return Export(parts, [*decoded.refused, *refused])
