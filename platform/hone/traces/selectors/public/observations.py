"""Pages of observations, each with what it has from its trace."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from hone.common import clock
from hone.common.conditions import Condition, conditions_sql
from hone.common.errors import InvalidError
from hone.traces.core.ids import root_key
from hone.traces.selectors.conditions import parts_needed
from hone.traces.selectors.observations import ObservationFilter, trace_start
from hone.traces.selectors.public.columns import IS_ROOT, IS_SENT, OBSERVATION_COLUMNS
from hone.traces.selectors.public.rolled import rolled_count
from hone.traces.selectors.query import fetch, fetch_slow
from hone.traces.selectors.rows import DEFAULT_ENVIRONMENT
from hone.traces.selectors.search import candidates

Position = tuple[datetime, str, str]  # start, trace id and id of the last one of a page
# Field of PublicObservation -> expression.
_FIELDS: Final = {
    "id": "o.span_id",
    "trace_id": "o.trace_id",
    "parent_id": "o.parent_span_id",
    "type": "o.type",
    "name": "o.name",
    "started_at": "o.start_time",
    "ended_at": "o.end_time",
    "first_token_at": "o.first_token_at",
    "level": "o.level",
    "status_message": "o.status_message",
    "model": "o.model",
    "model_parameters": "o.model_parameters",
    "input": "o.input",
    "output": "o.output",
    "metadata": "o.metadata",
    "attributes": "o.attributes",
    "usage": "o.usage",
    "cost": "o.cost",
    "cost_details": "o.cost_details",
    "prompt_name": "o.prompt_name",
    "prompt_version": "o.prompt_version",
    "environment": f"coalesce(o.environment, t.environment, '{DEFAULT_ENVIRONMENT}')",
    "version": "coalesce(o.version, t.version)",
    "release": "coalesce(o.release, t.release)",
    "user_id": "coalesce(o.user_id, t.user_id)",
    "session_id": "coalesce(o.session_id, t.session_id)",
    "trace_name": "t.name",
    "tags": "t.tags",
    "is_root": IS_ROOT,
}
_FROM: Final = (
    " FROM traces_observation o JOIN traces_trace t"
    " ON t.project_id = o.project_id AND t.trace_id = o.trace_id"
    f" WHERE o.project_id = %s AND {IS_SENT}"
)
_ORDER: Final = "ORDER BY o.start_time DESC, o.trace_id DESC, o.span_id DESC"
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_AHEAD: Final = timedelta(days=2)
_FEW: Final = 1000  # rows that may be read and left out
_MORE: Final = 8  # times longer than the stretch of time before
_HEAVY: Final = ("input", "output", "metadata")  # read only where they are asked for


@dataclass(frozen=True, slots=True)
class PublicObservation:
    """One observation; payloads, metadata and details are the stored texts."""

    id: str
    trace_id: str
    parent_id: str | None
    type: str
    name: str
    started_at: datetime
    ended_at: datetime
    first_token_at: datetime | None
    level: str
    status_message: str | None
    model: str | None
    model_parameters: str | None
    input: str | None
    output: str | None
    metadata: str | None
    attributes: str | None
    usage: str | None
    cost: Decimal | None
    cost_details: str | None
    prompt_name: str | None
    prompt_version: str | None
    environment: str
    version: str | None
    release: str | None
    user_id: str | None
    session_id: str | None
    trace_name: str
    tags: list[str]
    is_root: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationQuery:
    """Observations of a project that meet every condition, newest first."""

    project_id: int
    conditions: Sequence[Condition] = ()
    start: datetime | None = None
    end: datetime | None = None
    trace_id: str | None = None  # hex
    with_payloads: bool = True

    @property
    def is_all(self) -> bool:
        """Whether every observation of the project is wanted."""
        narrows = (self.conditions, self.start, self.end, self.trace_id)
        return not any(narrows)

    def where(self) -> tuple[str, list[Any]]:
        """What follows WHERE, and its values."""
        clauses: list[str] = []
        values: list[Any] = [self.project_id]
        if self.start is not None:
            clauses.append("o.start_time >= %s")
            values.append(self.start)
        if self.end is not None:
            clauses.append("o.start_time < %s")
            values.append(self.end)
        if self.trace_id is not None:
            clauses.append(
                "o.trace_id = %s AND o.start_time BETWEEN t.started_at AND t.latest_start_at"
            )
            values.append(bytes.fromhex(self.trace_id))
        clause, given = conditions_sql(self.conditions, OBSERVATION_COLUMNS)
        return " AND ".join([*clauses, clause]), [*values, *given]


def observations_page(
    query: ObservationQuery, *, limit: int, offset: int = 0, after: Position | None = None
) -> list[PublicObservation]:
    """Up to `limit` observations, newest first, behind `after` or behind the first `offset`."""
    where, values = query.where()
    if after is not None:
        where += " AND (o.start_time, o.trace_id, o.span_id) < (%s, %s, %s)"
        values += [after[0], bytes.fromhex(after[1]), bytes.fromhex(after[2])]
    sql = f"SELECT {_columns(query.with_payloads)}{_FROM} AND {where}"
    if query.trace_id is not None or offset > _FEW:
        rows = fetch_slow(f"{sql} {_ORDER} LIMIT %s OFFSET %s", [*values, limit, offset])
    else:
        rows = _newest(query, sql, values, offset + limit, after)[offset:]
    return [_row(row) for row in rows]


def _newest(
    query: ObservationQuery, sql: str, values: list[Any], number: int, after: Position | None
) -> list[tuple[Any, ...]]:
    """The first `number` rows, looked for from the newest stretch of time on, in ever longer ones:
    each trace that began in a stretch has an observation in it."""
    rows: list[tuple[Any, ...]] = []
    start, end = query.start or _EVER, query.end or clock.now() + _AHEAD
    if after is not None:
        end = min(end, after[0] + timedelta(microseconds=1))
    parts = parts_needed(query.conditions, OBSERVATION_COLUMNS)
    ids = candidates(query.project_id, parts, start, end) if parts else None
    if ids is not None:
        return fetch_slow(
            f"{sql} AND o.trace_id = ANY(%s) {_ORDER} LIMIT %s", [*values, ids, number]
        )
    step = number
    while len(rows) < number and start < end:
        wanted = ObservationFilter(project_id=query.project_id, start=start, end=end)
        begin = trace_start(wanted, end, step)
        rows += fetch_slow(
            f"{sql} AND o.start_time >= %s AND o.start_time < %s {_ORDER} LIMIT %s",
            [*values, begin, end, number - len(rows)],
        )
        end, step = begin, step * _MORE
    return rows


def observations_count(query: ObservationQuery, *, known: int) -> int:
    """How many observations meet the query; the `known` number where counting takes too long."""
    where, values = query.where()
    parts = parts_needed(query.conditions, OBSERVATION_COLUMNS)
    start, end = query.start or _EVER, query.end or clock.now() + _AHEAD
    if parts and (ids := candidates(query.project_id, parts, start, end)) is not None:
        where += " AND o.trace_id = ANY(%s)"
        values.append(ids)
    elif query.is_all:
        return _count_all(query.project_id)
    try:
        [(number,)] = fetch_slow(f"SELECT count(*){_FROM} AND {where}", values)
    except InvalidError:
        return known
    return int(number)


def _count_all(project_id: int) -> int:
    """Every observation but those that stand for a trace."""
    number = rolled_count(project_id)
    if number is not None:
        return number
    [(number,)] = fetch_slow(
        "SELECT coalesce(sum(observation_count), 0) - (SELECT count(*) FROM traces_legacy l"
        " WHERE l.project_id = %s AND length(l.key) = 16 AND l.state LIKE '%%\"at\":%%')"
        " FROM traces_trace WHERE project_id = %s",
        [project_id, project_id],
    )
    return int(number)


def observations_of_trace(project_id: int, trace_id: str, *, limit: int) -> list[PublicObservation]:
    """The first `limit` observations of a trace, oldest first."""
    where, values = ObservationQuery(project_id=project_id, trace_id=trace_id).where()
    order = "ORDER BY o.start_time, o.span_id LIMIT %s"
    sql = f"SELECT {_columns(True)}{_FROM} AND {where} {order}"
    return [_row(row) for row in fetch(sql, [*values, limit])]


def observation_find(project_id: int, observation_id: str) -> PublicObservation | None:
    """The observation of an id (hex); of several in different traces the newest."""
    [(trace_id,)] = fetch(
        "SELECT max(encode(trace_id, 'hex')) FROM traces_legacy WHERE project_id = %s AND key = %s",
        [project_id, bytes.fromhex(observation_id)],
    )
    query = ObservationQuery(
        project_id=project_id,
        conditions=[Condition("string", "id", "=", observation_id)],
        trace_id=trace_id,
    )
    found = observations_page(query, limit=1)
    return found[0] if found else None


def observation_ids_of(
    project_id: int, trace_ids: Sequence[str], *, limit: int = 1000
) -> dict[str, list[str]]:
    """Ids of the first `limit` observations of each trace, oldest first, by trace id (hex)."""
    rows = fetch(
        "SELECT t.trace_id, ARRAY(SELECT encode(o.span_id, 'hex') FROM traces_observation o"
        " WHERE o.project_id = t.project_id AND o.trace_id = t.trace_id"
        f" AND o.start_time BETWEEN t.started_at AND t.latest_start_at AND {IS_SENT}"
        " ORDER BY o.start_time, o.span_id LIMIT %s)"
        " FROM traces_trace t WHERE t.project_id = %s AND t.trace_id = ANY(%s)",
        [limit, project_id, [bytes.fromhex(trace_id) for trace_id in trace_ids]],
    )
    return {bytes(trace_id).hex(): ids for trace_id, ids in rows}


def _columns(with_payloads: bool) -> str:
    return ", ".join(
        "NULL::text" if name in _HEAVY and not with_payloads else expression
        for name, expression in _FIELDS.items()
    )


def _row(row: Sequence[Any]) -> PublicObservation:
    span_id, trace_id, parent, *rest = row
    trace_hex = bytes(trace_id).hex()
    parent_hex = bytes(parent).hex() if parent is not None else None
    is_top = parent_hex == root_key(trace_hex)  # below the observation that stands for the trace
    return PublicObservation(bytes(span_id).hex(), trace_hex, None if is_top else parent_hex, *rest)


assert list(_FIELDS) == [f.name for f in fields(PublicObservation)]
