"""The job that deletes what erasures ask for; a worker that died is taken over where it was.

What goes is decided by number of change: traces that were there when the erasure was asked for go
with all their spans, what begins later stays. Partitions first (services/clearing), the rest trace
by trace, then the search index, then what was said. Each step may be done twice.
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import structlog
from django.db import connection

from hone.accounts.services import project_delete
from hone.common import clock, events, jobs
from hone.traces.models import Comment, Erasure, Media, Score
from hone.traces.selectors.changes import horizon, seq_now
from hone.traces.selectors.query import fetch
from hone.traces.services.clearing import Doomed, partitions_clear
from hone.traces.services.deletion import traces_delete
from hone.traces.services.legacy_entities import entities_orphaned_delete
from hone.traces.services.search import search_forget

log = structlog.get_logger(__name__)
PORTION: Final = 2000  # traces deleted in one transaction
LEASE: Final = timedelta(minutes=1)  # renewed after each step
MAX_ATTEMPTS: Final = 20
SETTLE_S: Final = 30.0  # for writers who began before the erasure was asked for
PAUSE_S: Final = 0.2
_EVER: Final = "-infinity"
# A trace that changed since goes too where a span of it is older.
_KNOWN: Final = """
    (t.seq <= %(until)s OR EXISTS (SELECT FROM traces_observation o
        WHERE o.project_id = t.project_id AND o.trace_id = t.trace_id
            AND o.start_time BETWEEN t.started_at AND t.latest_start_at AND o.seq <= %(until)s))
"""
_CONDITIONS: Final = {
    Erasure.What.USER: f"t.user_id = %(user)s AND {_KNOWN}",
    Erasure.What.TRACES: _KNOWN,
    Erasure.What.PROJECT: "true",
    Erasure.What.RETENTION: "t.latest_start_at < %(before)s",
}
# From the oldest on, so that the observations of a portion lie in few partitions, and each from
# where the one before ended: what is deleted still stands in the index.
_NEXT: Final = """
    SELECT t.trace_id, t.started_at FROM traces_trace t
    WHERE t.project_id = %(project)s AND t.started_at >= %(since)s::timestamptz AND {}
    ORDER BY t.started_at LIMIT %(portion)s
"""
_COUNT: Final = """
    SELECT count(*) FROM traces_trace t WHERE t.project_id = %(project)s AND {}
"""
# Traces that name another of their users; no index knows these.
_WITH_USER: Final = """
    SELECT DISTINCT trace_id FROM traces_observation
    WHERE project_id = %(project)s AND user_id = %(user)s AND seq <= %(until)s
"""
# What a project leaves behind in tables that Django does not know.
_LEFT: Final = (
    "traces_trace",
    "traces_observation",
    "traces_legacy",
    "traces_echo",
    "traces_search_segment",
    "traces_count",
    "traces_count_dirty",
    "traces_rollup",
    "traces_rollup_latency",
    "traces_rollup_fix",
    "traces_figure",
    "traces_figure_crowded",
    "traces_figure_dirty",
)


class _LostError(Exception):
    """Another worker took the erasure over."""


def erasures_run() -> int:
    """Carry out what waits; how many were done."""
    owner = f"{socket.gethostname()} {os.getpid()} {threading.get_ident()}"[:80]
    number = 0
    jobs.requeue_expired(Erasure.objects.all(), now=clock.now(), max_attempts=MAX_ATTEMPTS)
    while claimed := jobs.claim(
        Erasure.objects.order_by("pk"), owner=owner, limit=1, lease=LEASE, now=clock.now()
    ):
        number += _run(claimed[0], owner)
    return number


def _run(erasure: Erasure, owner: str) -> bool:
    """Delete step by step, so that nobody waits long; False where another worker took it over."""
    try:
        if erasure.project_id is not None:
            _begin(erasure)
            for number in _steps(erasure, erasure.project_id):
                _keep(erasure, owner, number)
    except _LostError:
        return False
    done = jobs.finish(Erasure, erasure.pk, owner=owner, done_at=clock.now())
    log.info("erasure_done", what=erasure.what, key=erasure.key, num_traces=erasure.trace_count)
    return done


def _keep(erasure: Erasure, owner: str, number: int) -> None:
    """Say how far it is, and hold the lease."""
    held = Erasure.objects.filter(pk=erasure.pk, state=jobs.JobState.RUNNING, lease_owner=owner)
    erasure.trace_count += number
    held.update(trace_count=erasure.trace_count)
    if not jobs.renew(Erasure, [erasure.pk], owner=owner, lease=LEASE, now=clock.now()):
        raise _LostError


def _begin(erasure: Erasure) -> None:
    """Note what there is to do, the first time."""
    if erasure.until_seq is None:
        erasure.until_seq = seq_now()
    if erasure.started_at is None:
        erasure.started_at = clock.now()
        condition = {**_CONDITIONS, Erasure.What.TRACES: "t.seq <= %(until)s"}[_what(erasure)]
        [(erasure.trace_total,)] = fetch(_COUNT.format(condition), _values(erasure))
    erasure.save(update_fields=["until_seq", "started_at", "trace_total"])


def _what(erasure: Erasure) -> Erasure.What:
    return Erasure.What(erasure.what)


def _values(erasure: Erasure, **more: object) -> dict[str, Any]:
    return {
        "project": erasure.project_id,
        "user": erasure.user_id,
        "until": erasure.until_seq,
        "before": erasure.before,
        **more,
    }


def _steps(erasure: Erasure, project_id: int) -> Iterator[int]:
    """Do it; after each step how many traces went with it."""
    what, until_seq = _what(erasure), erasure.until_seq
    assert until_seq is not None
    if what != Erasure.What.USER:
        yield from partitions_clear(Doomed(project_id, until_seq, erasure.before))
    yield from _settled(until_seq)
    yield from _traces(erasure, project_id)
    if what == Erasure.What.USER:
        yield from _of_others(erasure, project_id)
        return
    while not search_forget(project_id=project_id, until_seq=until_seq, before=erasure.before):
        yield 0  # the index is being written
        time.sleep(PAUSE_S)
    if what == Erasure.What.TRACES:
        _said_delete(erasure, project_id)
    if what == Erasure.What.PROJECT:
        _project_delete(project_id)


def _settled(until_seq: int) -> Iterator[int]:
    """Wait for those who were writing when the erasure was asked for."""
    deadline = time.monotonic() + SETTLE_S
    while horizon() < until_seq and time.monotonic() < deadline:
        yield 0
        time.sleep(PAUSE_S)


def _traces(erasure: Erasure, project_id: int) -> Iterator[int]:
    """Delete traces in portions, again from the oldest on until none is found."""
    query = _NEXT.format(_CONDITIONS[_what(erasure)])
    since: object = _EVER
    while True:
        rows = fetch(query, _values(erasure, since=since, portion=PORTION))
        if rows:
            yield traces_delete(
                project_id=project_id, trace_ids=[bytes(trace_id) for trace_id, _ in rows]
            )
            since = rows[-1][1]
        elif since == _EVER:
            return
        else:
            since = _EVER


def _of_others(erasure: Erasure, project_id: int) -> Iterator[int]:
    """Delete traces that are told as another user's, with spans of this one."""
    rest = [bytes(trace_id) for (trace_id,) in fetch(_WITH_USER, _values(erasure))]
    for at in range(0, len(rest), PORTION):
        yield traces_delete(project_id=project_id, trace_ids=rest[at : at + PORTION])


def _said_delete(erasure: Erasure, project_id: int) -> None:
    """What was said of sessions and the like, or of traces that never came."""
    before = {"project_id": project_id, "created_at__lte": erasure.created_at}
    Score.objects.filter(**before).delete()
    Comment.objects.filter(**before).exclude(object_type=Comment.Kind.PROMPT).delete()
    entities_orphaned_delete(project_id, erasure.created_at)


def _project_delete(project_id: int) -> None:
    """The project with all that names it; spans that were under way when it ended, too."""
    Media.objects.filter(project_id=project_id).delete()
    project_delete(project_id=project_id)
    events.forget(project_id)
    with connection.cursor() as cursor:
        for table in _LEFT:
            cursor.execute(f"DELETE FROM {table} WHERE project_id = %s", [project_id])
