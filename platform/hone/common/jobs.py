"""Rows as jobs: who works on what, until when. The rows are the truth; Celery only wakes workers.

A row is claimed for a time (the lease). A worker that dies lets its lease run out, and the row goes
back to the queue; what a worker writes after losing its lease is refused.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog
from celery import current_app
from django.db import models, transaction
from django.db.models import F, Q, QuerySet
from kombu.exceptions import OperationalError

from hone.common.broker import ERRORS

log = structlog.get_logger(__name__)


class JobState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELED = "canceled"


class LeasedModel(models.Model):
    """Base of a job row. Give the table an index on (state, lease_until) or a partial one."""

    state = models.CharField(max_length=10, choices=JobState, default=JobState.QUEUED)
    lease_owner = models.CharField(max_length=80, default="", blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempt = models.IntegerField(default=0)

    class Meta:
        abstract = True


Job = TypeVar("Job", bound=LeasedModel)


def claim(
    queue: QuerySet[Job, Job], *, owner: str, limit: int, lease: timedelta, now: datetime
) -> list[Job]:
    """Take up to `limit` queued rows of `queue`, in its order, for `owner` until now + lease.

    Rows that another worker is taking at this moment are passed over.
    """
    with transaction.atomic():
        rows = list(
            queue.filter(state=JobState.QUEUED).select_for_update(skip_locked=True, of=("self",))[
                :limit
            ]
        )
        until = now + lease
        queue.model._default_manager.filter(pk__in=[row.pk for row in rows]).update(
            state=JobState.RUNNING, lease_owner=owner, lease_until=until, attempt=F("attempt") + 1
        )
    for row in rows:
        row.state, row.lease_owner, row.lease_until = JobState.RUNNING, owner, until
        row.attempt += 1
    return rows


def renew(
    model: type[Job], ids: Collection[Any], *, owner: str, lease: timedelta, now: datetime
) -> set[Any]:
    """Extend the leases of `ids`; the ids that `owner` still holds (others were taken away)."""
    held = model._default_manager.filter(pk__in=ids, state=JobState.RUNNING, lease_owner=owner)
    held.update(lease_until=now + lease)
    return set(held.values_list("pk", flat=True))


def finish(
    model: type[Job], pk: Any, *, owner: str, state: str = JobState.DONE, **fields: Any
) -> bool:
    """Close the row with `state` and `fields`; False where `owner` lost it, and nothing changes.

    Call it in the transaction that writes the results: then they exist once or not at all.
    """
    held = model._default_manager.filter(pk=pk, state=JobState.RUNNING, lease_owner=owner)
    return bool(held.update(state=state, lease_owner="", lease_until=None, **fields))


def give_back(model: type[Job], ids: Collection[Any], *, owner: str) -> int:
    """Return claimed rows to the queue untried, as on an orderly stop; how many."""
    held = model._default_manager.filter(pk__in=ids, state=JobState.RUNNING, lease_owner=owner)
    return held.update(
        state=JobState.QUEUED, lease_owner="", lease_until=None, attempt=F("attempt") - 1
    )


def requeue_expired(
    queue: QuerySet[Job, Job], *, now: datetime, max_attempts: int, **failed_fields: Any
) -> tuple[int, int]:
    """Queue again what dead workers held; (requeued, failed after `max_attempts`).

    `failed_fields` are set on the failed ones, e.g. error="...".
    """
    expired = Q(state=JobState.RUNNING, lease_until__lt=now)
    freed = {"lease_owner": "", "lease_until": None}
    failed = queue.filter(expired, attempt__gte=max_attempts).update(
        state=JobState.FAILED, **freed, **failed_fields
    )
    requeued = queue.filter(expired).update(state=JobState.QUEUED, **freed)
    return requeued, failed


def wake(task: str, *args: Any, queue: str = "default") -> None:
    """After commit, send the Celery task named `task`; a broker that is down costs only time.

    The periodic sweep finds the rows that no message told of.
    """

    def send() -> None:
        try:
            current_app.send_task(task, args=args, queue=queue, retry=False)
        except (OperationalError, *ERRORS) as error:
            log.warning("wake_failed", task=task, error=type(error).__name__)

    transaction.on_commit(send)
