"""Runs and executions noted from spans, in the transaction that stores the spans."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import psycopg

from hone.common import clock
from hone.evals.core.experiment import Noted, execution_key, noted
from hone.traces.core.ids import span_key
from hone.traces.core.span import Span

_RUN: Final = """
    INSERT INTO evals_datasetrun AS r (project_id, key, dataset_key, name, description, metadata,
        started_at, ended_at, created_at, updated_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (project_id, key) DO UPDATE SET
        dataset_key = coalesce(nullif(excluded.dataset_key, ''), r.dataset_key),
        name = coalesce(nullif(excluded.name, ''), r.name),
        description = coalesce(nullif(excluded.description, ''), r.description),
        metadata = coalesce(excluded.metadata, r.metadata),
        started_at = least(excluded.started_at, r.started_at),
        ended_at = greatest(excluded.ended_at, r.ended_at), updated_at = excluded.updated_at
"""
_ITEM: Final = """
    INSERT INTO evals_datasetrunitem AS i (run_id, key, item_key, trace_id, observation_id,
        item_version, expected_output, item_metadata, started_at, created_at, updated_at)
    SELECT r.id, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s
    FROM evals_datasetrun r WHERE r.project_id = %s AND r.key = %s
    ON CONFLICT (run_id, key) DO UPDATE SET
        item_version = coalesce(excluded.item_version, i.item_version),
        expected_output = coalesce(excluded.expected_output, i.expected_output),
        item_metadata = coalesce(excluded.item_metadata, i.item_metadata),
        started_at = least(excluded.started_at, i.started_at), updated_at = excluded.updated_at
"""
Fact = tuple[int, Noted, Span]  # project id, what the span tells, the span


def experiments_note(cursor: psycopg.Cursor[Any], items: Sequence[tuple[int, Span]]) -> None:
    """Note the runs and executions that these spans tell of; repeats change nothing."""
    told = ((project_id, noted(span.attributes), span) for project_id, span in items)
    facts = [(project_id, fact, span) for project_id, fact, span in told if fact is not None]
    facts.sort(key=lambda fact: (fact[0], fact[1].run, fact[1].item, fact[2].trace_id))
    now = clock.now()
    cursor.executemany(_RUN, [_run(fact, now) for fact in facts])
    cursor.executemany(_ITEM, [_item(fact, now) for fact in facts])


def _run(fact: Fact, now: datetime) -> tuple[object, ...]:
    project_id, note, span = fact
    name = note.run_name or note.run
    times = _moment(span.start_ns), _moment(span.end_ns), now, now
    return project_id, note.run, note.dataset, name, note.description, note.run_metadata, *times


def _item(fact: Fact, now: datetime) -> tuple[object, ...]:
    project_id, note, span = fact
    root = span_key(note.root) if note.root else ""
    key = execution_key(note.run, note.item, span.trace_id, root)
    told = note.item_version, note.expected_output, note.item_metadata
    times = _moment(span.start_ns), now, now
    return key, note.item, span.trace_id, root, *told, *times, project_id, note.run


def _moment(ns: int) -> datetime:
    return datetime.fromtimestamp(ns / 1e9, UTC)
