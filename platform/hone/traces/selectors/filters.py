"""Which traces are wanted, as SQL conditions on `traces_trace t`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hone.common.conditions import Column, Condition, condition_sql, escaped
from hone.traces.core.search.terms import value_term
from hone.traces.core.search.wanted import Part, exact, parts_of
from hone.traces.core.text import json_spelled, text_clean
from hone.traces.selectors.conditions import parts_needed
from hone.traces.selectors.rows import DEFAULT_ENVIRONMENT

# Folding only ASCII, PostgreSQL compares several times faster than by the rules of a language.
_FOLD: Final = ' COLLATE "C"'
_TEXT: Final = """(
    t.name{c} ILIKE ANY(%s) OR t.input_preview{c} ILIKE ANY(%s) OR t.output_preview{c} ILIKE ANY(%s)
    OR EXISTS (
        SELECT FROM traces_observation o
        WHERE o.project_id = t.project_id AND o.trace_id = t.trace_id
            AND o.start_time >= %s AND o.start_time BETWEEN t.started_at AND t.latest_start_at
            AND (o.input{c} ILIKE ANY(%s) OR o.output{c} ILIKE ANY(%s) OR o.name{c} ILIKE ANY(%s))
    )
)"""
# Query field -> condition with its value once.
_EQUAL: Final = {
    "model": "t.models @> ARRAY[%s]",
    "tag": "t.tags @> ARRAY[%s]",
    "name": "t.name = %s",
    "session": "t.session_id = %s",
    "user": "t.user_id = %s",
    "environment": f"coalesce(t.environment, '{DEFAULT_ENVIRONMENT}') = %s",
}
# Fields that the search index knows and no other index: rare values are found through it.
_TERMS: Final = ("model", "tag", "name", "environment")
_SECONDS: Final = "extract(epoch FROM {})::float8"


def _said(column: str) -> str:
    """A payload of the observations, as one text for conditions on the whole trace."""
    return (
        f"(SELECT string_agg(o.{column}, ' ') FROM traces_observation o"
        " WHERE o.project_id = t.project_id AND o.trace_id = t.trace_id"
        " AND o.start_time BETWEEN t.started_at AND t.latest_start_at)"
    )


COLUMNS: Final[Mapping[str, Column]] = {
    "id": Column("encode(t.trace_id, 'hex')"),
    "name": Column("t.name", term="name"),
    "startTime": Column("t.started_at", "time"),
    "endTime": Column("t.ended_at", "time"),
    "environment": Column(f"coalesce(t.environment, '{DEFAULT_ENVIRONMENT}')"),
    "status": Column("CASE WHEN t.error_count > 0 THEN 'error' ELSE 'ok' END"),
    "userId": Column("t.user_id", term="user"),
    "sessionId": Column("t.session_id", term="session"),
    "release": Column("t.release", term="release"),
    "version": Column("t.version", term="version"),
    "tags": Column("t.tags", "array", term="tag"),
    "models": Column("t.models", "array", term="model"),
    "latency": Column(_SECONDS.format("t.ended_at - t.started_at"), "number"),
    "timeToFirstToken": Column(_SECONDS.format("t.first_token_at - t.started_at"), "number"),
    "tokensPerSecond": Column("t.decode_tokens * 1e6 / nullif(t.decode_us, 0)", "number"),
    "inputTokens": Column("t.input_tokens", "number"),
    "outputTokens": Column("t.output_tokens", "number"),
    "totalTokens": Column("t.total_tokens", "number"),
    "totalCost": Column("t.cost", "number"),
    "observationCount": Column("t.observation_count", "number"),
    "errorCount": Column("t.error_count", "number"),
    "input": Column(_said("input"), term="*"),
    "output": Column(_said("output"), term="*"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """The traces of a project that started in [start, end) and meet every condition given."""

    project_id: int
    start: datetime
    end: datetime
    text: str | None = None  # found, in any case of letters, in a name, an input or an output
    status: str | None = None  # ok | error
    model: str | None = None
    name: str | None = None
    session: str | None = None
    user: str | None = None
    tag: str | None = None
    environment: str | None = None
    conditions: tuple[Condition, ...] = ()

    def where(self) -> tuple[str, list[object]]:
        """The condition and its values; raises InvalidError for an unknown column."""
        clauses = ["t.project_id = %s AND t.started_at >= %s AND t.started_at < %s"]
        values: list[object] = [self.project_id, self.start, self.end]
        for field, clause in _EQUAL.items():
            if (value := getattr(self, field)) is not None:
                clauses.append(clause)
                values.append(value)
        if self.status is not None:
            clauses.append("t.error_count > 0" if self.status == "error" else "t.error_count = 0")
        for condition in self.conditions:
            clause, more = condition_sql(condition, COLUMNS)
            clauses.append(clause)
            values += more
        if self.text:
            likes = patterns_of(self.text)
            clauses.append(_TEXT.format(c=fold_of(self.text)))
            values += [likes, likes, likes, self.start, likes, likes, likes]
        return " AND ".join(clauses), values

    @property
    def is_plain(self) -> bool:
        """Whether only the time decides."""
        given = (getattr(self, field) for field in ("text", "status", *_EQUAL))
        return not self.conditions and all(value is None for value in given)

    @property
    def alone(self) -> str | None:
        """The one field whose value decides, beside time and status; None: more does, or none."""
        given = [field for field in ("text", *_EQUAL) if getattr(self, field) is not None]
        return given[0] if len(given) == 1 and not self.conditions else None

    def parts(self) -> list[Part]:
        """What the search index must hold for every match."""
        parts = parts_of(self.text) if self.text else []
        for field in _TERMS:
            value = getattr(self, field)
            if value is not None and (field, value) != ("environment", DEFAULT_ENVIRONMENT):
                parts.append(exact(value_term(field, value)))
        return parts + parts_needed(self.conditions, COLUMNS)


def fold_of(text: str) -> str:
    return _FOLD if text.isascii() else ""


def patterns_of(text: str) -> list[str]:
    """What to look for: the text itself, and the ways in which JSON may spell it."""
    spelled = {text, json_spelled(text), json_spelled(text, ascii_only=True)}
    return sorted(f"%{escaped(text_clean(one))}%" for one in spelled)
