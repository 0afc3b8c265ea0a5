"""What is older than it is kept goes.

For the whole server (HONE_TRACES_RETENTION_DAYS) whole partitions, then their traces; for a project
as an erasure, which shows how far it is and survives its worker.
"""

import uuid
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet

from hone.accounts.models import Project
from hone.accounts.selectors import Access
from hone.common import clock, events, jobs
from hone.common.errors import InvalidError
from hone.traces.models import Erasure, Retention
from hone.traces.selectors.query import fetch
from hone.traces.services.erasures import TASK
from hone.traces.services.figures import figures_retain
from hone.traces.services.legacy_entities import entities_retain
from hone.traces.services.partitions import partitions_drop
from hone.traces.services.parts import trace_parts_delete
from hone.traces.services.rollups import rollups_retain
from hone.traces.services.search import search_retain

log = structlog.get_logger(__name__)
CHANGED: Final = "retention.changed"
_OPEN: Final = (jobs.JobState.QUEUED, jobs.JobState.RUNNING)
_IS_OLDER: Final = """
    SELECT EXISTS (SELECT FROM traces_trace
        WHERE project_id = %s AND started_at < %s AND latest_start_at < %s)
"""
_PORTION: Final = 5000  # traces deleted in one transaction
_DELETE: Final = """
    DELETE FROM traces_trace WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM traces_trace WHERE latest_start_at < %s LIMIT %s
    )) RETURNING project_id, encode(trace_id, 'hex')
"""


def traces_retain() -> tuple[int, int]:
    """Drop partitions that are past their time and delete the traces that lay in them.

    The number of partitions and of traces. Without HONE_TRACES_RETENTION_DAYS nothing goes.
    """
    days: int = settings.HONE_TRACES_RETENTION_DAYS
    if not days:
        return 0, 0
    cutoff = clock.now() - timedelta(days=days)
    dropped = partitions_drop(cutoff)
    deleted = _delete_traces(cutoff)
    search_retain(cutoff)
    rollups_retain(cutoff)
    figures_retain(cutoff)
    entities_retain(cutoff)
    if dropped or deleted:
        log.info("traces_retained", num_partitions=len(dropped), num_traces=deleted)
    return len(dropped), deleted


def _delete_traces(cutoff: datetime) -> int:
    """Traces whose every observation started before `cutoff`; some observations may outlive them
    until their partition is past its time, reachable by nobody."""
    deleted = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_DELETE, [cutoff, _PORTION])
            gone: dict[int, list[str]] = {}
            for project_id, trace_id in cursor.fetchall():
                gone.setdefault(project_id, []).append(trace_id)
            for project_id, ids in gone.items():
                trace_parts_delete(project_id=project_id, trace_ids=ids)
            number: int = cursor.rowcount
        deleted += number
        if number < _PORTION:
            return deleted


def kept_since(days: int) -> datetime:
    """The midnight (UTC) before which everything goes where `days` are kept.

    Whole days, so that a project's rows and the index are touched once a day.
    """
    today = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=days)


@transaction.atomic
def retention_set(*, access: Access, days: int | None) -> None:
    """Keep the project's traces for so many days (None: for ever) and have older ones deleted.

    Raises InvalidError where the server keeps less.
    """
    most = days_most()
    if days is not None and not 1 <= days <= most:
        raise InvalidError(f"days: got {days}, want 1 to {most}, or null for ever", field="days")
    project = access.project
    if days is None:
        Retention.objects.filter(project=project).delete()
        _of_retention(project).filter(state__in=_OPEN).update(state=jobs.JobState.CANCELED)
    else:
        values = {
            "days": days,
            "author": access.user,
            "author_name": access.author_name,
            "updated_at": clock.now(),
        }
        Retention.objects.update_or_create(project=project, defaults=values)
        _erase_older(project, kept_since(days), access)
    log.info("retention_changed", project=project.slug, days=days, author=access.author_name)
    events.publish(project.pk, CHANGED, {"days": days, "author": access.author_name})


def days_most() -> int:
    """What a project may ask for at most: what the server keeps, or takes at all."""
    return settings.HONE_TRACES_RETENTION_DAYS or settings.HONE_TRACES_HISTORY_DAYS


def retentions_run() -> int:
    """Have deleted what has become too old in each project; in how many there was something."""
    number = 0
    for kept in Retention.objects.select_related("project__organization"):
        if not _of_retention(kept.project).filter(state__in=_OPEN).exists():
            number += _erase_older(kept.project, kept_since(kept.days), None)
    return number


def _of_retention(project: Project) -> QuerySet[Erasure, Erasure]:
    return Erasure.objects.filter(project=project, what=Erasure.What.RETENTION)


def _erase_older(project: Project, before: datetime, access: Access | None) -> bool:
    """Queue the project's one erasure of this kind again; False where nothing is that old.

    A worker that is at it with an older setting loses it and stops.
    """
    [(is_older,)] = fetch(_IS_OLDER, [project.pk, before, before])
    if not is_older:
        return False
    fresh = {
        "state": jobs.JobState.QUEUED,
        "lease_owner": "",
        "lease_until": None,
        "attempt": 0,
        "author": access.user if access else None,
        "author_name": access.author_name if access else "retention",
        "created_at": clock.now(),
        "started_at": None,
        "done_at": None,
        "trace_count": 0,
        "trace_total": None,
        "until_seq": None,
        "before": before,
    }
    named = {
        "key": uuid.uuid4().hex,
        "organization": project.organization,
        "project_slug": project.slug,
    }
    Erasure.objects.update_or_create(
        project=project,
        what=Erasure.What.RETENTION,
        defaults=fresh,
        create_defaults=fresh | named,
    )
    jobs.wake(TASK)
    return True
