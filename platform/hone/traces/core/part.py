"""What one request says of one trace: its rows and their summary, ready to be written."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hone.traces.core.periods import DAY_US
from hone.traces.core.row import SPAN_ID, START, Row, rank, row_of, since_1970
from hone.traces.core.span import Span
from hone.traces.core.summary import Summary, merged, summary_of
from hone.traces.core.unrow import row_from, span_from
from hone.traces.core.wire import Encoded

TraceKey = tuple[int, bytes]  # project id, trace id


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of distinct spans of one trace, as values or encoded, and the summary of just these.

    One that `replaces` stands whatever is stored of its spans; else the greater by `rank` does.
    """

    key: TraceKey
    rows: Sequence[Row] | Encoded
    summary: Summary
    replaces: bool = False
    tapped: Sequence[Span] = ()  # of which other apps want to hear (services/taps)

    def days(self) -> set[int]:
        """The days since 1970 on which its spans start."""
        first, last = self.summary.started_us // DAY_US, self.summary.latest_start_us // DAY_US
        if last - first <= 1:
            return {first, last}
        starts = (row[START] for row in self.values())
        return {since_1970(us) // DAY_US for us in starts if isinstance(us, int)}

    def values(self) -> Sequence[Row]:
        """The rows as values."""
        if isinstance(self.rows, Sequence):
            return self.rows
        return [row_from(encoded) for encoded in self.rows.encoded()]

    def span_ids(self) -> list[bytes]:
        if isinstance(self.rows, Sequence):
            return [_span_id(row) for row in self.rows]
        ids = self.rows.span_ids()
        return [ids[at : at + 8] for at in range(0, len(ids), 8)]


def parts_of(
    project_id: int,
    spans: Iterable[Span],
    *,
    replaces: bool = False,
    taps: Iterable[str] = (),
) -> list[Part]:
    """Fitted spans by trace; spans with one of the attributes `taps` are also kept as they are.

    Of several spans with one id one stands: the last that replaces, else the greatest.
    """
    traces: dict[str, dict[str, list[Span]]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, {}).setdefault(span.span_id, []).append(span)
    parts = []
    for trace_id, by_id in traces.items():
        chosen = [
            found[-1] if len(found) == 1 or replaces else max(found, key=_ranked(project_id))
            for found in by_id.values()
        ]
        rows = [row_of(project_id, span) for span in chosen]
        key = (project_id, bytes.fromhex(trace_id))
        tapped = [span for span in chosen if any(name in span.attributes for name in taps)]
        parts.append(Part(key, rows, summary_of(chosen), replaces, tapped))
    return parts


def part_of(key: TraceKey, rows: Sequence[Row], *, replaces: bool) -> Part:
    """A part of these rows, at least one."""
    return Part(key, rows, summary_of([span_from(row) for row in rows]), replaces)


def summed(parts: Sequence[Part]) -> Summary:
    """The summary of parts that share no span."""
    summary = parts[0].summary
    for part in parts[1:]:
        summary = merged(summary, part.summary)
    return summary


def disjoint(parts: Sequence[Part]) -> Sequence[Part]:
    """Parts of one trace with each span once."""
    if len(parts) == 1:
        return parts
    ids = [span_id for part in parts for span_id in part.span_ids()]
    if len(set(ids)) == len(ids):
        return parts
    chosen: dict[bytes, Row] = {}
    replaced: set[bytes] = set()
    for part in parts:
        for row in part.values():
            span_id = _span_id(row)
            other = chosen.get(span_id)
            if part.replaces or other is None or (span_id not in replaced and _beats(row, other)):
                chosen[span_id] = row
            if part.replaces:
                replaced.add(span_id)
    groups = ((True, chosen.keys() & replaced), (False, chosen.keys() - replaced))
    key = parts[0].key
    return [
        part_of(key, [row for span_id, row in chosen.items() if span_id in ids], replaces=replaces)
        for replaces, ids in groups
        if ids
    ]


def _beats(row: Row, other: Row) -> bool:
    return rank(row) > rank(other)


def _ranked(project_id: int) -> Callable[[Span], tuple[object, ...]]:
    return lambda span: rank(row_of(project_id, span))


def _span_id(row: Row) -> bytes:
    span_id = row[SPAN_ID]
    assert isinstance(span_id, bytes)
    return span_id
