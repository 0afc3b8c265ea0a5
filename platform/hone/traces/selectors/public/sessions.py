"""Sessions: what traces say they belong to."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from hone.traces.selectors.query import fetch_slow
from hone.traces.selectors.rows import DEFAULT_ENVIRONMENT

_ENVIRONMENT: Final = (
    "(SELECT coalesce(min(e.environment), %(default)s) FROM traces_trace e"
    " WHERE e.project_id = t.project_id AND e.session_id = t.session_id)"
)
# A session stands where its first trace does, so that a page needs no look at all sessions.
_ROWS: Final = f"""
    SELECT t.session_id, t.started_at, {_ENVIRONMENT} FROM traces_trace t
    WHERE t.project_id = %(project)s AND t.session_id IS NOT NULL {{where}}
        AND NOT EXISTS (
            SELECT FROM traces_trace n
            WHERE n.project_id = t.project_id AND n.session_id = t.session_id
                AND n.started_at <= t.started_at
                AND (n.started_at, n.trace_id) < (t.started_at, t.trace_id))
    ORDER BY t.started_at DESC, t.trace_id DESC LIMIT %(limit)s OFFSET %(offset)s
"""
_COUNT: Final = """
    SELECT count(*) FROM (
        SELECT t.session_id FROM traces_trace t
        WHERE t.project_id = %(project)s AND t.session_id IS NOT NULL
        GROUP BY t.project_id, t.session_id HAVING {having}
    ) sessions
"""
_CONDITIONS: Final = {
    "start": ("t.started_at >= %(start)s", "min(t.started_at) >= %(start)s"),
    "end": ("t.started_at < %(end)s", "min(t.started_at) < %(end)s"),
    "environments": (
        f"{_ENVIRONMENT} = ANY(%(environments)s)",
        "coalesce(min(t.environment), %(default)s) = ANY(%(environments)s)",
    ),
}


@dataclass(frozen=True, slots=True)
class PublicSession:
    id: str
    created_at: datetime
    environment: str


def sessions_page(
    project_id: int,
    *,
    start: datetime | None,
    end: datetime | None,
    environments: list[str],
    limit: int,
    offset: int,
) -> tuple[list[PublicSession], int]:
    """Sessions whose first trace lies in [start, end), newest first, and how many there are."""
    values: dict[str, Any] = {
        "project": project_id,
        "default": DEFAULT_ENVIRONMENT,
        "limit": limit,
        "offset": offset,
        "start": start,
        "end": end,
        "environments": environments or None,
    }
    given = [pair for name, pair in _CONDITIONS.items() if values[name] is not None]
    where = "".join(f" AND {of_first}" for of_first, _ in given)
    having = " AND ".join(["TRUE", *(of_all for _, of_all in given)])
    rows = fetch_slow(_ROWS.format(where=where), values)
    if offset == 0 and len(rows) < limit:
        total = len(rows)
    else:
        [(total,)] = fetch_slow(_COUNT.format(having=having), values)
    return [PublicSession(*row) for row in rows], total


def session_find(project_id: int, session_id: str) -> PublicSession | None:
    """One session."""
    rows = fetch_slow(
        f"SELECT session_id, min(started_at), coalesce(min(environment), '{DEFAULT_ENVIRONMENT}')"
        " FROM traces_trace WHERE project_id = %s AND session_id = %s GROUP BY session_id",
        [project_id, session_id],
    )
    return PublicSession(*rows[0]) if rows else None
