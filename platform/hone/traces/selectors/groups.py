"""Sessions and users: traces that share an id, newest group first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from hone.common.conditions import escaped
from hone.traces.core.text import json_value, text_clean
from hone.traces.selectors.query import fetch, fetch_slow
from hone.traces.selectors.rows import COLUMNS, TraceRow, money_text, trace_row_from

Position = tuple[datetime, str]  # newest start and id of the last group of a page
FEW: Final = 2000  # groups of a project, up to which all of them are looked at
LOOK: Final = 2000  # traces that are looked at first for a page of groups
_COLUMN: Final = {"session": "session_id", "user": "user_id"}
_OTHER: Final = {"session": "user_id", "user": "session_id"}
_NAMED: Final = {"session": "(array_agg(other ORDER BY other))[:10]", "user": "NULL::text[]"}


@dataclass(frozen=True, slots=True)
class Group:
    """The traces of a session or a user within the window."""

    id: str
    first_at: datetime
    latest_at: datetime
    trace_count: int
    observation_count: int
    error_count: int  # traces with errors
    total_tokens: int
    cost: str | None
    unpriced_count: int
    users: list[str]  # at most ten, of a session
    session_count: int  # of a user


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFilter:
    """The sessions or users (`kind`) with traces that started in [start, end)."""

    kind: str  # session | user
    project_id: int
    start: datetime
    end: datetime
    text: str | None = None  # in the id


@dataclass(frozen=True, slots=True)
class Turn:
    """A trace with what was asked and answered."""

    trace: TraceRow
    input: object
    output: object


_ALL: Final = """
    WITH RECURSIVE ids AS (
        (SELECT {c} AS id FROM traces_trace WHERE project_id = %(project)s AND {c} IS NOT NULL
            ORDER BY {c} LIMIT 1)
        UNION ALL
        SELECT (SELECT {c} FROM traces_trace
            WHERE project_id = %(project)s AND {c} > ids.id ORDER BY {c} LIMIT 1)
        FROM ids WHERE ids.id IS NOT NULL
    ) SELECT id FROM ids WHERE id IS NOT NULL LIMIT %(few)s
"""
# Of ids that are all known: when each was seen last.
_LATEST_OF_ALL: Final = """
    SELECT k.id, t.started_at FROM unnest(%(ids)s::text[]) AS k (id) CROSS JOIN LATERAL (
        SELECT started_at FROM traces_trace t WHERE t.project_id = %(project)s AND t.{c} = k.id
            AND t.started_at >= %(start)s AND t.started_at < %(end)s
        ORDER BY t.started_at DESC LIMIT 1
    ) t
    WHERE (t.started_at, k.id) < (%(after)s, %(after_id)s)
    ORDER BY t.started_at DESC, k.id DESC LIMIT %(number)s
"""
# Of many: traces from the newest on, each group where its newest trace stands. Among so many traces
# at most; a page of few and busy groups lies deeper.
_LATEST_OF_MANY: Final = """
    SELECT t.id, t.started_at FROM (
        SELECT t.trace_id, t.started_at, t.{c} AS id FROM traces_trace t
        WHERE t.project_id = %(project)s AND t.started_at >= %(start)s
            AND t.started_at < %(end)s AND t.started_at <= %(after)s AND t.{c} IS NOT NULL
        {first}
    ) t
    WHERE (t.started_at, t.id) < (%(after)s, %(after_id)s) {like}
        AND NOT EXISTS (
            SELECT FROM traces_trace n WHERE n.project_id = %(project)s AND n.{c} = t.id
                AND n.started_at < %(end)s AND n.started_at >= t.started_at
                AND (n.started_at, n.trace_id) > (t.started_at, t.trace_id))
    ORDER BY t.started_at DESC, t.id DESC LIMIT %(number)s
"""
_SUMS: Final = """
    SELECT t.{c}, min(t.started_at), max(t.started_at), count(*), sum(t.observation_count)::bigint,
        count(*) FILTER (WHERE t.error_count > 0), sum(t.total_tokens)::bigint, sum(t.cost),
        sum(t.unpriced_count)::bigint
    FROM traces_trace t WHERE t.project_id = %s AND t.{c} = ANY(%s)
        AND t.started_at >= %s AND t.started_at < %s
    GROUP BY t.{c}
"""
# Apart from the sums: counting what is distinct would have all of their rows sorted.
_OTHERS: Final = """
    SELECT id, count(*), {named} FROM (
        SELECT DISTINCT t.{c} AS id, t.{other} AS other FROM traces_trace t
        WHERE t.project_id = %s AND t.{c} = ANY(%s) AND t.started_at >= %s AND t.started_at < %s
            AND t.{other} IS NOT NULL
    ) pairs GROUP BY id
"""
_LAST: Final = "\U0010ffff"


def groups_list(
    wanted: GroupFilter, *, limit: int, after: Position | None = None
) -> tuple[list[Group], Position | None]:
    """A page of groups and where the next one begins, None at the end."""
    found = _latest(wanted, limit + 1, after)
    page = found[:limit]
    sums = groups_by_ids(wanted, [group_id for group_id, _ in page])
    rows = [sums[group_id] for group_id, _ in page if group_id in sums]
    return rows, (page[-1][1], page[-1][0]) if len(found) > limit else None


def groups_by_ids(wanted: GroupFilter, ids: Sequence[str]) -> dict[str, Group]:
    """The groups that have traces in the window."""
    columns = {"c": _COLUMN[wanted.kind], "other": _OTHER[wanted.kind]}
    columns["named"] = _NAMED[wanted.kind]
    values = [wanted.project_id, list(ids), wanted.start, wanted.end]
    sums = fetch_slow(_SUMS.format(**columns), values)
    others = {row[0]: row[1:] for row in fetch_slow(_OTHERS.format(**columns), values)}
    return {row[0]: _group(wanted.kind, row, others.get(row[0], (0, []))) for row in sums}


def session_turns(
    project_id: int, session: str, *, limit: int, after: Position | None = None
) -> tuple[list[Turn], Position | None]:
    """The session's traces, oldest first, each with its input and output as a whole."""
    said = (
        "(SELECT o.{0} FROM traces_observation o WHERE o.project_id = t.project_id"
        " AND o.trace_id = t.trace_id AND o.start_time BETWEEN t.started_at AND t.latest_start_at"
        " AND o.span_id = substr(t.{0}_key, 10, 8))"
    )
    moment, identity = after or (None, "")
    rows = fetch_slow(
        f"SELECT {COLUMNS}, {said.format('input')}, {said.format('output')} FROM traces_trace t"
        " WHERE t.project_id = %s AND t.session_id = %s"
        " AND (%s::timestamptz IS NULL OR (t.started_at, t.trace_id) > (%s, %s))"
        " ORDER BY t.started_at, t.trace_id LIMIT %s",
        [project_id, session, moment, moment, bytes.fromhex(identity), limit + 1],
    )
    turns = [
        Turn(trace_row_from(row[:-2]), json_value(row[-2]), json_value(row[-1]))
        for row in rows[:limit]
    ]
    latest = turns[-1].trace if len(rows) > limit else None
    return turns, (latest.started_at, latest.id) if latest else None


def _latest(wanted: GroupFilter, number: int, after: Position | None) -> list[tuple[str, datetime]]:
    column = _COLUMN[wanted.kind]
    values: dict[str, Any] = {
        "project": wanted.project_id,
        "start": wanted.start,
        "end": wanted.end,
        "number": number,
        "few": FEW + 1,
        "after": after[0] if after else wanted.end,
        "after_id": after[1] if after else _LAST,
    }
    like = ""
    if wanted.text:
        like = "AND t.id ILIKE %(like)s"
        values["like"] = f"%{escaped(text_clean(wanted.text))}%"
    first = f"ORDER BY t.started_at DESC LIMIT {LOOK}"
    found = fetch_slow(_LATEST_OF_MANY.format(c=column, like=like, first=first), values)
    if len(found) == number:
        return found
    ids = [group_id for (group_id,) in fetch(_ALL.format(c=column), values)]
    if len(ids) <= FEW:
        if wanted.text:
            text = wanted.text.lower()
            ids = [group_id for group_id in ids if text in group_id.lower()]
        return fetch_slow(_LATEST_OF_ALL.format(c=column), values | {"ids": ids})
    return fetch_slow(_LATEST_OF_MANY.format(c=column, like=like, first=""), values)


def _group(kind: str, row: Sequence[Any], others: tuple[int, list[str]]) -> Group:
    group_id, first, latest, traces, observations, errors, tokens, cost, unpriced = row
    is_session = kind == "session"
    return Group(
        id=group_id,
        first_at=first,
        latest_at=latest,
        trace_count=traces,
        observation_count=observations,
        error_count=errors,
        total_tokens=tokens,
        cost=money_text(cost),
        unpriced_count=unpriced,
        users=others[1] if is_session else [group_id],
        session_count=1 if is_session else others[0],
    )
