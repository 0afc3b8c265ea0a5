"""What was written since the last time goes into new segments."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from django.db import connection, transaction

from hone.traces.core.search.gather import Gathered, Texts
from hone.traces.core.text import json_stored
from hone.traces.selectors.changes import horizon
from hone.traces.services.counts import counts_refresh
from hone.traces.services.search.rows import Cursor, Span, dense_over, segment_write

STEP_SPANS: Final = 20_000  # in one transaction, at least one batch
STEP_NUMBERS: Final = 20_000  # looked through for them at once; a trace takes a number, too
LOCK: Final = 0x484F_4E45_0002  # one process writes the index
FETCHED: Final = 500
_INDEXED: Final = """
    INSERT INTO traces_search_state (id, indexed_seq) VALUES (1, %s)
    ON CONFLICT (id) DO UPDATE SET indexed_seq = excluded.indexed_seq
"""
COLUMNS: Final = """
    o.project_id, o.trace_id, (extract(epoch FROM o.start_time) * 1000000)::bigint, o.name,
    o.trace_name, o.input, o.output, o.model, o.user_id, o.session_id, o.environment, o.release,
    o.version, o.tags
"""


def search_index() -> bool:
    """Index one portion of what is new; False: all is indexed, or another process is at it."""
    until = latest = horizon()
    with working() as cursor:
        if cursor is None:
            return False
        cursor.execute("SELECT coalesce(max(indexed_seq), 0) FROM traces_search_state")
        since = _one(cursor)
        until = _portion(cursor, since, until)
        if until > since:
            _write(cursor, since, until)
            cursor.execute(_INDEXED, [until])
        counts_refresh(cursor, since, until)
    return until < latest


@contextmanager
def working() -> Iterator[Cursor | None]:
    """A transaction in which nobody else writes the index; None where somebody does."""
    with transaction.atomic():
        connection.ensure_connection()
        with psycopg.Cursor(connection.connection) as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
            yield cursor if _one(cursor) else None


def search_stale(*, project_id: int, seqs: set[int]) -> None:
    """Observations with these numbers were deleted: what the index keeps of them must go too."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE traces_search_segment s SET stale = true WHERE project_id = %s AND EXISTS"
            " (SELECT FROM unnest(%s::bigint[]) k WHERE k > s.from_seq AND k <= s.to_seq)",
            [project_id, sorted(seqs)],
        )


def _portion(cursor: Cursor, since: int, until: int) -> int:
    """Up to which number the next portion goes."""
    if until <= since:
        return since
    until = min(until, since + STEP_NUMBERS)
    cursor.execute(
        "SELECT seq, count(*) FROM traces_observation WHERE seq > %s AND seq <= %s"
        " GROUP BY seq ORDER BY seq",
        [since, until],
    )
    number = 0
    for seq, count in cursor.fetchall():
        if number and number + count > STEP_SPANS:
            return int(seq) - 1
        number += count
    return until


def _write(cursor: Cursor, since: int, until: int) -> None:
    gathered: dict[int, Gathered] = {}
    for project_id, texts in texts_between(cursor, since, until):
        gathered.setdefault(project_id, Gathered()).add(texts)
    for project_id, one in gathered.items():
        gathered_write(cursor, Span(project_id, since, until, 0), one)


def gathered_write(cursor: Cursor, span: Span, gathered: Gathered) -> int:
    """Write what was gathered as one segment; its id."""
    gathered.flush()
    docs, moved, first, latest = gathered.docs_bytes()
    terms = gathered.terms(moved, dense_over(len(moved)))
    return segment_write(cursor, span, docs, (first, latest, True), terms)


def texts_between(cursor: Cursor, since: int, until: int) -> Iterator[tuple[int, Texts]]:
    """What was written with numbers in (since, until], with its project."""
    with cursor.connection.cursor("traces_search_texts") as stream:
        stream.itersize = FETCHED
        stream.execute(
            f"SELECT {COLUMNS} FROM traces_observation o WHERE o.seq > %s AND o.seq <= %s",
            [since, until],
        )
        for row in stream:
            yield row[0], texts_of(row)


def texts_of(row: Any) -> Texts:
    """A row of COLUMNS."""
    trace_id, tags = bytes(row[1]), row[-1]
    return Texts._make([trace_id, *row[2:-1], tuple(json_stored(tags)) if tags else ()])


def _one(cursor: Cursor) -> Any:
    row = cursor.fetchone()
    assert row is not None
    return row[0]
