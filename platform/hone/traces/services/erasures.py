"""A user's traces, all traces or a whole project deleted for good, by a job that says when."""

import os
import socket
import threading
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import structlog
from django.db import connection

from hone.accounts.core.roles import Role
from hone.accounts.models import ApiKey, User
from hone.accounts.selectors import Access, projects_of
from hone.accounts.services import api_key_revoke, project_delete
from hone.common import clock, events, jobs
from hone.common.errors import InvalidError, NotFoundError
from hone.traces.models import Comment, Erasure, Media, Score
from hone.traces.selectors.query import fetch
from hone.traces.services.deletion import traces_delete

log = structlog.get_logger(__name__)
TASK: Final = "hone.traces.erase"
PORTION: Final = 2000  # traces deleted in one transaction
LEASE: Final = timedelta(minutes=2)  # renewed after each portion
MAX_ATTEMPTS: Final = 20
_OF_USER: Final = """
    SELECT trace_id FROM traces_trace WHERE project_id = %s AND user_id = %s
    ORDER BY started_at LIMIT %s
"""
# Traces that name another of their users; no index knows these.
_WITH_USER: Final = """
    SELECT DISTINCT trace_id FROM traces_observation WHERE project_id = %s AND user_id = %s
"""
# From the oldest on, so that the observations of a portion lie in few partitions.
_OF_PROJECT: Final = """
    SELECT trace_id FROM traces_trace WHERE project_id = %s ORDER BY started_at LIMIT %s
"""
# What a project leaves behind in tables that Django does not know.
_LEFT: Final = (
    "traces_observation",
    "traces_legacy",
    "traces_echo",
    "traces_search_segment",
    "traces_count",
    "traces_count_dirty",
    "traces_rollup",
    "traces_rollup_latency",
    "traces_rollup_fix",
)


def erasure_request(*, access: Access, what: str, user_id: str = "") -> Erasure:
    """Have something deleted; a project's keys end at once.

    Raises ForbiddenError where somebody who is no owner wants the project gone.
    """
    if (what == Erasure.What.USER) != bool(user_id):
        raise InvalidError("user_id: wanted for `user`, and only there", field="user_id")
    if what == Erasure.What.PROJECT:
        access.require(Role.OWNER)
        for key in ApiKey.objects.filter(project=access.project, revoked_at=None):
            api_key_revoke(project=access.project, key_id=key.pk)
    erasure = Erasure.objects.create(
        key=uuid.uuid4().hex,
        organization=access.project.organization,
        project=access.project,
        project_slug=access.project.slug,
        what=what,
        user_id=user_id,
        author=access.user,
        author_name=access.author_name,
        created_at=clock.now(),
    )
    log.info("erasure_requested", what=what, project=access.project.slug, key=erasure.key)
    jobs.wake(TASK)
    return erasure


def erasure_of(*, person: User, key: str) -> Erasure:
    """An erasure of an organization that the person administers; raises NotFoundError."""
    administered = [
        membership.organization_id
        for membership in projects_of(person)
        if Role(membership.role).covers(Role.ADMIN)
    ]
    found = Erasure.objects.filter(key=key, organization_id__in=administered).first()
    if found is None:
        raise NotFoundError(f"There is no erasure {key!r}")
    return found


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
    """Delete in portions, so that nobody waits long; False where another worker took it over."""
    project_id = erasure.project_id
    if project_id is not None:
        for ids in _portions(erasure, project_id):
            erasure.trace_count += traces_delete(project_id=project_id, trace_ids=ids)
            erasure.save(update_fields=["trace_count"])
            if not jobs.renew(Erasure, [erasure.pk], owner=owner, lease=LEASE, now=clock.now()):
                return False
        if erasure.what != Erasure.What.USER:
            _said_delete(project_id)
        if erasure.what == Erasure.What.PROJECT:
            _project_delete(project_id)
    done = jobs.finish(Erasure, erasure.pk, owner=owner, done_at=clock.now())
    log.info("erasure_done", what=erasure.what, key=erasure.key, num_traces=erasure.trace_count)
    return done


def _portions(erasure: Erasure, project_id: int) -> Iterator[list[bytes]]:
    """Ids of traces that are still there."""
    is_user = erasure.what == Erasure.What.USER
    place: list[object] = [project_id, erasure.user_id] if is_user else [project_id]
    while ids := _ids(_OF_USER if is_user else _OF_PROJECT, [*place, PORTION]):
        yield ids
    if is_user:
        rest = _ids(_WITH_USER, place)
        yield from (rest[at : at + PORTION] for at in range(0, len(rest), PORTION))


def _ids(query: str, values: list[object]) -> list[bytes]:
    return [bytes(trace_id) for (trace_id,) in fetch(query, values)]


def _said_delete(project_id: int) -> None:
    """What was said of sessions and the like, which hangs on no trace, and files."""
    Score.objects.filter(project_id=project_id).delete()
    Comment.objects.filter(project_id=project_id).delete()


def _project_delete(project_id: int) -> None:
    """The project with all that names it; spans that were under way when it ended, too."""
    Media.objects.filter(project_id=project_id).delete()
    project_delete(project_id=project_id)
    events.forget(project_id)
    with connection.cursor() as cursor:
        for table in ("traces_trace", *_LEFT):
            cursor.execute(f"DELETE FROM {table} WHERE project_id = %s", [project_id])
