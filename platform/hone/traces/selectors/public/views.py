"""What metrics can be about: for each view its rows, dimensions and measures as SQL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hone.common.conditions import Column
from hone.traces.selectors.public.columns import (
    IS_SENT,
    OBSERVATION_COLUMNS,
    TRACE_COLUMNS,
)

_DAY: Final = "to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
_MONTH: Final = "to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM')"


@dataclass(frozen=True, slots=True)
class View:
    """One view. `scope` ends in a condition on the project; `lists` are dimensions that hold
    several values a row: each value counts."""

    scope: str
    time: str
    dimensions: Mapping[str, str]
    measures: Mapping[str, str]
    columns: Mapping[str, Column]
    lists: frozenset[str] = frozenset()


def _of_columns(columns: Mapping[str, Column], names: str) -> dict[str, str]:
    return {name: columns[name].sql for name in names.split()}


_O: Final = OBSERVATION_COLUMNS
_SECONDS: Final = _O["latency"].sql
_SINCE_FIRST: Final = "extract(epoch FROM o.end_time - coalesce(o.first_token_at, o.start_time))"
OBSERVATIONS: Final = View(
    scope="traces_observation o JOIN traces_trace t ON t.project_id = o.project_id"
    f" AND t.trace_id = o.trace_id WHERE o.project_id = %s AND {IS_SENT}",
    time="o.start_time",
    dimensions={
        **_of_columns(
            _O,
            "environment name level version tags release traceName providedModelName"
            " promptName isRootObservation",
        ),
        "type": "upper(o.type)",
        "traceRelease": "t.release",
        "traceVersion": "t.version",
        "promptVersion": "o.prompt_version",
        "startTimeMonth": _MONTH.format("o.start_time"),
    },
    measures={
        "count": "1",
        "latency": f"{_SECONDS} * 1000",
        "streamingLatency": f"{_SINCE_FIRST} * 1000",
        "timeToFirstToken": f"{_O['timeToFirstToken'].sql} * 1000",
        "inputTokens": "o.input_tokens",
        "outputTokens": "o.output_tokens",
        "totalTokens": "o.total_tokens",
        "outputTokensPerSecond": f"o.output_tokens / nullif({_SINCE_FIRST}, 0)",
        "tokensPerSecond": f"o.total_tokens / nullif({_SECONDS}, 0)",
        "inputCost": _O["inputCost"].sql,
        "outputCost": _O["outputCost"].sql,
        "totalCost": "o.cost",
        "countScores": "(SELECT count(*) FROM traces_score s WHERE s.project_id = o.project_id"
        " AND s.trace_id = encode(o.trace_id, 'hex')"
        " AND s.observation_id = encode(o.span_id, 'hex'))",
    },
    columns=_O,
    lists=frozenset({"tags"}),
)
TRACES: Final = View(
    scope="traces_trace t WHERE t.project_id = %s",
    time="t.started_at",
    dimensions={
        **_of_columns(TRACE_COLUMNS, "id name tags userId sessionId release version environment"),
        "timestampMonth": _MONTH.format("t.started_at"),
    },
    measures={
        "count": "1",
        "observationsCount": "t.observation_count",
        "latency": f"{TRACE_COLUMNS['latency'].sql} * 1000",
        "totalTokens": "t.total_tokens",
        "totalCost": "t.cost",
    },
    columns=TRACE_COLUMNS,
    lists=frozenset({"tags"}),
)
_TRACE_ID_OF_SCORE: Final = (
    "CASE WHEN s.trace_id ~ '^[0-9a-f]{32}$' THEN decode(s.trace_id, 'hex') END"
)
_OF_OBSERVATION: Final = (
    "(SELECT o.COLUMN FROM traces_observation o WHERE o.project_id = s.project_id"
    " AND o.trace_id = t.trace_id AND o.start_time BETWEEN t.started_at AND t.latest_start_at"
    " AND o.span_id ="
    " CASE WHEN s.observation_id ~ '^[0-9a-f]{16}$' THEN decode(s.observation_id, 'hex') END)"
)
_SCORE_COLUMNS: Final = {
    "name": Column("s.name"),
    "environment": Column("s.environment"),
    "source": Column("s.source"),
    "dataType": Column("s.type"),
    "timestamp": Column("s.timestamp", "time"),
    "value": Column("s.number", "number"),
    "stringValue": Column("s.text"),
    "traceId": Column("s.trace_id", read=_O["traceId"].read),
    "observationId": Column("s.observation_id", read=_O["id"].read),
    "sessionId": Column("s.session_id"),
    "userId": Column("t.user_id"),
    "traceName": Column("t.name"),
    "tags": Column("t.tags", "array"),
    "traceRelease": Column("t.release"),
    "traceVersion": Column("t.version"),
    "observationName": Column(_OF_OBSERVATION.replace("COLUMN", "name")),
    "observationModelName": Column(_OF_OBSERVATION.replace("COLUMN", "model")),
    "observationPromptName": Column(_OF_OBSERVATION.replace("COLUMN", "prompt_name")),
    "observationPromptVersion": Column(_OF_OBSERVATION.replace("COLUMN", "prompt_version")),
}


def _scores(types: str, value: str | None) -> View:
    dimensions = {
        **_of_columns(
            _SCORE_COLUMNS,
            "environment name source dataType traceName tags traceRelease traceVersion"
            " observationName observationModelName observationPromptName observationPromptVersion",
        ),
        "configId": "s.config_id::text",
        "timestampMonth": _MONTH.format("s.timestamp"),
        "timestampDay": _DAY.format("s.timestamp"),
    }
    if value is not None:
        dimensions[value] = {"value": "s.number", "booleanValue": "s.number <> 0"}.get(
            value, "s.text"
        )
    return View(
        scope="traces_score s LEFT JOIN traces_trace t ON t.project_id = s.project_id"
        f" AND t.trace_id = {_TRACE_ID_OF_SCORE}"
        f" WHERE s.project_id = %s AND s.type IN ({types})",
        time="s.timestamp",
        dimensions=dimensions,
        measures={"count": "1", "value": "s.number"},
        columns=_SCORE_COLUMNS,
        lists=frozenset({"tags"}),
    )


VIEWS: Final[Mapping[str, View]] = {
    "observations": OBSERVATIONS,
    "traces": TRACES,
    "scores-numeric": _scores("'NUMERIC'", "value"),
    "scores-boolean": _scores("'BOOLEAN'", "booleanValue"),
    "scores-categorical": _scores("'CATEGORICAL', 'TEXT'", "stringValue"),
}
