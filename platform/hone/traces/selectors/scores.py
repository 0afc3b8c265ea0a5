"""Scores: lists of them, those of traces, and what they come to."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Q, QuerySet

from hone.common.errors import InvalidError, NotFoundError
from hone.traces.models import Score
from hone.traces.selectors.query import fetch

_NUMBER: Final = re.compile(r"-?\d{1,18}(\.\d{1,18})?")
_MOST_IN_LIST: Final = 1000  # scores of one trace that are given
_OPERATORS: Final = {"=": "=", ">": ">", "<": "<", ">=": ">=", "<=": "<="}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFilter:
    """The scores of a project that meet every condition given; a collection means any of it."""

    project_id: int
    keys: Collection[str] = ()
    trace_ids: Collection[str] = ()  # hex
    observation_ids: Collection[str] = ()  # hex
    session_ids: Collection[str] = ()
    run_ids: Collection[str] = ()
    names: Collection[str] = ()
    sources: Collection[str] = ()
    types: Collection[str] = ()
    environments: Collection[str] = ()
    configs: Collection[str] = ()
    queues: Collection[str] = ()
    authors: Collection[str] = ()
    values: Collection[str] = ()  # as text: categories, numbers, true and false
    user_ids: Collection[str] = ()  # of the trace
    tags: Collection[str] = ()  # all of them on the trace
    value_not: float | None = None
    value_min: float | None = None
    value_max: float | None = None
    start: datetime | None = None
    end: datetime | None = None


_ANY_OF: Final = {
    "keys": "key",
    "trace_ids": "trace_id",
    "observation_ids": "observation_id",
    "session_ids": "session_id",
    "run_ids": "run_id",
    "names": "name",
    "sources": "source",
    "types": "type",
    "environments": "environment",
    "configs": "config__key",
    "queues": "queue_id",
    "authors": "author_id",
}
_BOUNDS: Final = {
    "value_min": "number__gte",
    "value_max": "number__lte",
    "start": "timestamp__gte",
    "end": "timestamp__lt",
}


@dataclass(frozen=True, slots=True)
class ScoreMean:
    """The scores of one name: the mean of numbers, or the most frequent category."""

    name: str
    type: str
    count: int
    mean: float | None = None
    label: str | None = None


def scores(wanted: ScoreFilter) -> QuerySet[Score, Score]:
    """The scores that `wanted` names, with config and author fetched."""
    conditions: dict[str, object] = {"project_id": wanted.project_id}
    for field, column in _ANY_OF.items():
        if given := getattr(wanted, field):
            conditions[f"{column}__in"] = list(given)
    for field, bound in _BOUNDS.items():
        if (value := getattr(wanted, field)) is not None:
            conditions[bound] = value
    rows = Score.objects.filter(**conditions).select_related("config", "author")
    if wanted.value_not is not None:
        rows = rows.exclude(number=wanted.value_not)
    if wanted.values:
        rows = rows.filter(_value_is(wanted.values))
    if wanted.user_ids or wanted.tags:
        users = list(wanted.user_ids)
        rows = rows.extra(where=[_TRACE], params=[users, users, list(wanted.tags)])
    return rows


# The scores of traces of any of these users (or of all), with all of these tags.
_TRACE: Final = """EXISTS (SELECT FROM traces_trace t
    WHERE t.project_id = traces_score.project_id AND traces_score.trace_id <> ''
        AND t.trace_id = decode(traces_score.trace_id, 'hex')
        AND (cardinality(%s::text[]) = 0 OR t.user_id = ANY(%s)) AND t.tags @> %s::text[])"""


def _value_is(values: Collection[str]) -> Q:
    condition = Q(text__in=list(values), type__in=["CATEGORICAL", "TEXT", "CORRECTION"])
    truths = {"true": 1.0, "false": 0.0}
    if some := [truths[v.lower()] for v in values if v.lower() in truths]:
        condition |= Q(type="BOOLEAN", number__in=some)
    numbers = [float(v) for v in values if _NUMBER.fullmatch(v)]
    return condition | Q(type="NUMERIC", number__in=numbers) if numbers else condition


def score_get(project_id: int, key: str) -> Score:
    """One score; raises NotFoundError."""
    found = scores(ScoreFilter(project_id=project_id, keys=[key])).first()
    if found is None:
        raise NotFoundError(f"There is no score {key!r}")
    return found


def scores_of_traces(project_id: int, trace_ids: Sequence[str]) -> dict[str, list[Score]]:
    """The scores of traces and their observations, oldest first, by trace id (hex)."""
    found: dict[str, list[Score]] = {trace_id: [] for trace_id in trace_ids}
    wanted = ScoreFilter(project_id=project_id, trace_ids=trace_ids)
    most = _MOST_IN_LIST * max(1, len(found))
    for score in scores(wanted).order_by("timestamp", "id")[:most] if found else ():
        found[score.trace_id].append(score)
    return found


def scores_of_runs(project_id: int, run_ids: Sequence[str]) -> dict[str, list[Score]]:
    """The scores of runs as a whole, by run id."""
    found: dict[str, list[Score]] = {run_id: [] for run_id in run_ids}
    wanted = ScoreFilter(project_id=project_id, run_ids=run_ids)
    for score in scores(wanted).order_by("timestamp", "id") if found else ():
        found[score.run_id].append(score)
    return found


def score_means(project_id: int, trace_ids: Sequence[str]) -> dict[str, list[ScoreMean]]:
    """What the scores of each trace come to, by trace id (hex), in order of name."""
    rows = fetch(
        "SELECT trace_id, name, type, count(*), avg(number), mode() WITHIN GROUP (ORDER BY text)"
        " FROM traces_score WHERE project_id = %s AND trace_id = ANY(%s) AND type <> 'CORRECTION'"
        " GROUP BY trace_id, name, type ORDER BY trace_id, name, type",
        [project_id, list(trace_ids)],
    )
    found: dict[str, list[ScoreMean]] = {trace_id: [] for trace_id in trace_ids}
    for trace_id, *row in rows:
        found[trace_id].append(mean_of(*row))
    return found


def mean_of(name: str, kind: str, count: int, mean: float | None, label: str) -> ScoreMean:
    """Of a category there is no mean, of a number no most frequent text."""
    if kind in ("NUMERIC", "BOOLEAN"):
        return ScoreMean(name, kind, count, mean=mean)
    return ScoreMean(name, kind, count, label=label)


def score_names(project_id: int) -> list[tuple[str, str]]:
    """Names and types of scores there are among the newest, in order of name."""
    rows = fetch(
        "SELECT DISTINCT name, type FROM (SELECT name, type FROM traces_score"
        " WHERE project_id = %s ORDER BY timestamp DESC, id DESC LIMIT 20000) newest"
        " ORDER BY name, type LIMIT 200",
        [project_id],
    )
    return [(name, kind) for name, kind in rows]


def score_condition(name: str, operator: str, value: str | float) -> tuple[str, list[object]]:
    """A condition on `traces_trace t`: it has a score `name` whose value compares so.

    Text compares by `=` with categories, numbers by any of = > < >= <=. Raises InvalidError.
    """
    is_text = isinstance(value, str)
    if operator not in _OPERATORS or (is_text and operator != "="):
        raise InvalidError(f"score: got the operator {operator!r}, want = > < >= <=", field="score")
    column = "s.text" if is_text else "s.number"
    clause = (
        "EXISTS (SELECT FROM traces_score s WHERE s.project_id = t.project_id"
        f" AND s.trace_id = encode(t.trace_id, 'hex') AND s.name = %s"
        f" AND {column} {_OPERATORS[operator]} %s)"
    )
    return clause, [name, value]
