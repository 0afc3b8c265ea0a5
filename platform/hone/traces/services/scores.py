"""Scores written: many at once, idempotent by their key, in any order of arrival."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from django.db import connection, transaction

from hone.accounts.selectors import Access
from hone.common import clock, events
from hone.common.errors import HoneError, InvalidError, NotFoundError
from hone.traces.core.ids import span_key, trace_key
from hone.traces.core.masks import Masks
from hone.traces.core.scores import ScoreWrite, score_value, target_check
from hone.traces.core.text import text_clean
from hone.traces.models import Score, ScoreConfig
from hone.traces.selectors.score_configs import rules_of
from hone.traces.services.intake import intake_for

CHANGED: Final = "scores.changed"
_TOLD_IDS: Final = 500  # trace ids in one event
_COLUMNS: Final = (
    "project_id, key, trace_id, observation_id, session_id, run_id, name, type, source, number,"
    " text, comment, metadata, environment, config_id, queue_id, author_id, author_name,"
    " timestamp, created_at, updated_at"
)
# The target stands as it was first said. What a later word leaves out stays; an older word
# changes nothing.
_UPSERT: Final = f"""
    INSERT INTO traces_score AS s ({_COLUMNS}) VALUES ({", ".join(["%s"] * 21)})
    ON CONFLICT (project_id, key) DO UPDATE SET
        name = excluded.name, type = excluded.type, source = excluded.source,
        number = excluded.number, text = excluded.text,
        comment = coalesce(nullif(excluded.comment, ''), s.comment),
        metadata = coalesce(excluded.metadata, s.metadata),
        environment = excluded.environment,
        config_id = coalesce(excluded.config_id, s.config_id),
        queue_id = coalesce(nullif(excluded.queue_id, ''), s.queue_id),
        author_id = excluded.author_id, author_name = excluded.author_name,
        timestamp = excluded.timestamp, updated_at = excluded.updated_at
    WHERE excluded.updated_at >= s.updated_at
"""


@dataclass(frozen=True, slots=True)
class ScoreOutcome:
    """What became of one write."""

    key: str
    error: HoneError | None = None


def scores_upsert(
    *, project_id: int, writes: Sequence[ScoreWrite], author: Access | None = None
) -> list[ScoreOutcome]:
    """Store scores, masked, in one transaction, one outcome a write; a bad one hinders no other.

    Idempotent by key: of several writes of one score the latest said stands, and within one call
    the last. Raises only when the database is down.
    """
    masks = intake_for(project_id).masks
    if masks:
        writes = [_masked(write, masks) for write in writes]
    configs = _configs(project_id, writes)
    rows: dict[str, tuple[Any, ...]] = {}
    outcomes = []
    for write in writes:
        key = text_clean(write.key or uuid.uuid4().hex)
        error = None
        try:
            rows.pop(key, None)
            rows[key] = _row(project_id, key, write, configs, author)
        except HoneError as problem:
            error = problem
        outcomes.append(ScoreOutcome(key, error))
    if rows:
        _store(project_id, [rows[key] for key in sorted(rows)])  # in one order: no deadlock
    return outcomes


def _masked(write: ScoreWrite, masks: Masks) -> ScoreWrite:
    """The score as it may be kept. The session as its spans have it; a name that a config gave,
    its admins chose."""
    session = write.session_id
    return replace(
        write,
        name=write.name if write.config else masks.text(write.name),
        value=masks.value(write.value) if isinstance(write.value, str) else write.value,
        comment=masks.payload(write.comment),
        metadata=masks.value(write.metadata),
        session_id=masks.text(session) if session else session,
    )


def scores_known(project_id: int, keys: Sequence[str]) -> set[str]:
    """Those of these keys that name a score."""
    cleaned = [text_clean(key) for key in keys]
    found = Score.objects.filter(project_id=project_id, key__in=cleaned)
    known = set(found.values_list("key", flat=True))
    return {key for key in keys if text_clean(key) in known}


def score_upsert(*, project_id: int, write: ScoreWrite, author: Access | None = None) -> str:
    """Store one score; its key. Raises InvalidError, NotFoundError for an unknown config."""
    (outcome,) = scores_upsert(project_id=project_id, writes=[write], author=author)
    if outcome.error is not None:
        raise outcome.error
    return outcome.key


def score_delete(*, project_id: int, key: str) -> None:
    """Take a score away; raises NotFoundError."""
    with transaction.atomic():
        found = Score.objects.filter(project_id=project_id, key=key)
        traces = list(found.values_list("trace_id", flat=True))
        if not found.delete()[0]:
            raise NotFoundError(f"There is no score {key!r}")
        _tell(project_id, traces)


def run_scores_delete(*, project_id: int, run_key: str) -> None:
    """Take away the scores of a run as a whole."""
    Score.objects.filter(project_id=project_id, run_id=run_key).delete()


def _configs(project_id: int, writes: Sequence[ScoreWrite]) -> Mapping[str, ScoreConfig]:
    wanted = {write.config for write in writes if write.config}
    if not wanted:
        return {}
    rows = ScoreConfig.objects.filter(project_id=project_id, key__in=wanted)
    return {row.key: row for row in rows}


def _row(
    project_id: int,
    key: str,
    write: ScoreWrite,
    configs: Mapping[str, ScoreConfig],
    author: Access | None,
) -> tuple[Any, ...]:
    """The values of _COLUMNS; raises InvalidError, NotFoundError."""
    target_check(write)
    config = configs.get(write.config) if write.config else None
    if write.config and config is None:
        raise NotFoundError(f"There is no score config {write.config!r}", field="config")
    if config is not None and config.name != write.name:
        raise InvalidError(
            f"name: got {write.name[:80]!r}, the config is for {config.name!r}", field="name"
        )
    value = score_value(write.value, write.type, rules_of(config) if config else None)
    now = clock.now()
    said_at = write.said_at or write.timestamp or now
    return (
        project_id,
        key,
        trace_key(write.trace_id) if write.trace_id else "",
        span_key(write.observation_id) if write.observation_id else "",
        text_clean(write.session_id or ""),
        text_clean(write.run_id or ""),
        text_clean(write.name),
        value.type,
        write.source,
        value.number,
        text_clean(value.text or ""),
        text_clean(write.comment or ""),
        None if write.metadata is None else text_clean(orjson.dumps(write.metadata).decode()),
        text_clean(write.environment or "default"),
        config.pk if config else None,
        text_clean(write.queue_id or ""),
        author.user.pk if author and author.user else None,
        author.author_name if author else "",
        write.timestamp or said_at,
        now,
        said_at,
    )


def _store(project_id: int, rows: Sequence[tuple[Any, ...]]) -> None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.executemany(_UPSERT, rows)
        _tell(project_id, [row[2] for row in rows])


def _tell(project_id: int, traces: Sequence[str]) -> None:
    ids = sorted({trace_id for trace_id in traces if trace_id})
    if ids:
        events.publish(project_id, CHANGED, {"traces": ids[:_TOLD_IDS]})
