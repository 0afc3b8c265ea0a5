"""Batch runs: made, canceled, and worked off item by item by the process with the engine."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F

from hone.accounts.models import Project
from hone.common import clock, events, jobs
from hone.common.errors import InvalidError
from hone.common.jobs import JobState
from hone.gateway.core.batch import (
    FOR_RUNS,
    inputs_check,
    item_trace_id,
    parameters_check,
    root_span_id,
)
from hone.gateway.core.errors import GatewayError
from hone.gateway.core.request import Annotations
from hone.gateway.core.spans import CallRecord, spans_of
from hone.gateway.models import BatchItem, BatchRun
from hone.gateway.selectors import models_list, run_body
from hone.gateway.services.owners import owner_is_gone, worker_name
from hone.prompts.core.names import Reference
from hone.prompts.selectors import prompt_resolve
from hone.traces import services as traces

WAKE = "hone.gateway.runs_wake"  # the task in the process with the engine
MAX_ATTEMPTS = 5
OPEN = (JobState.QUEUED, JobState.RUNNING)
GAVE_UP = f"The worker died {MAX_ATTEMPTS} times while it worked on this input"


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What came of one item: `output` or `error`, and what its trace is made of."""

    item: BatchItem
    start_ns: int
    end_ns: int
    input: object
    output: str | None = None
    error: str | None = None
    usage: dict[str, Any] | None = None
    timings: dict[str, Any] | None = None
    finish_reason: str | None = None


def lease() -> timedelta:
    """How long a claimed item belongs to a worker that says nothing more."""
    return timedelta(seconds=settings.HONE_RUN_LEASE_S)


def run_create(
    *,
    project: Project,
    author: str,
    name: object,
    prompt: object,
    model: object,
    parameters: object,
    inputs: object,
) -> BatchRun:
    """A run and its items, told to the worker after commit; raises InvalidError, NotFoundError."""
    resolved = prompt_resolve(project.pk, _reference(prompt))
    try:
        values = parameters_check({} if parameters is None else parameters)
        rows = inputs_check(inputs, list(resolved.variables))
    except GatewayError as error:
        raise InvalidError(error.message, field=error.param) from None
    defaults = {k: v for k, v in resolved.config.items() if k in FOR_RUNS}
    chosen = _model(project.pk, model or resolved.config.get("model"))
    now = clock.now()
    with transaction.atomic():
        run = BatchRun.objects.create(
            project=project,
            name=_name(name) or f"{resolved.name} · {now:%Y-%m-%d %H:%M}",
            prompt_name=resolved.name,
            prompt_version=resolved.version,
            prompt_type=resolved.type,
            prompt=resolved.prompt,
            model=chosen,
            parameters={**defaults, **values},
            author=author[:200],
            total=len(rows),
            created_at=now,
        )
        BatchItem.objects.bulk_create(
            (
                BatchItem(
                    run=run,
                    index=index,
                    variables=row,
                    trace_id=item_trace_id(run.pk, now.isoformat(), index),
                )
                for index, row in enumerate(rows)
            ),
            batch_size=1000,
        )
        jobs.wake(WAKE, queue="gpu")
        run_tell(run)
    return run


def _reference(prompt: object) -> Reference:
    values = prompt if isinstance(prompt, dict) else {}
    name, version, label = (values.get(key) for key in ("name", "version", "label"))
    if not isinstance(name, str) or not name:
        raise InvalidError("prompt: want an object with name and version or label", field="prompt")
    if isinstance(version, int) and not isinstance(version, bool) and 0 < version < 2**31:
        return Reference(name, version, None)
    if version is None and isinstance(label, str) and label:
        return Reference(name, None, label)
    raise InvalidError("prompt: want its version (a number) or a label", field="prompt")


def _name(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > 200:
        raise InvalidError("name: want a text of at most 200 characters", field="name")
    return value.strip()


def _model(project_id: int, model: object) -> str:
    if not isinstance(model, str) or not model:
        raise InvalidError("model: want the name of a model", field="model")
    row = next((row for row in models_list(project_id) if row.id == model), None)
    if row is None:
        raise InvalidError(f"model: there is no model {model[:200]!r}", field="model")
    if row.kind != "local":
        raise InvalidError(f"model: {model!r} is remote; runs use the local engine", field="model")
    return model


def run_cancel(*, run: BatchRun) -> BatchRun:
    """Stop a run: queued items never start, running ones are dropped; a second time nothing."""
    with transaction.atomic():
        # Items before their run, in order of id: as items_finish locks them.
        items = BatchItem.objects.filter(run=run, state__in=OPEN).order_by("id")
        ids = list(items.select_for_update().values_list("pk", flat=True))
        locked = BatchRun.objects.select_for_update().get(pk=run.pk)
        if locked.state in OPEN:
            BatchItem.objects.filter(pk__in=ids).update(
                state=JobState.CANCELED, lease_owner="", lease_until=None
            )
            locked.state, locked.finished_at = JobState.CANCELED, clock.now()
            locked.save(update_fields=["state", "finished_at"])
            jobs.wake(WAKE, queue="gpu")
            run_tell(locked)
    return locked


def run_tell(run: BatchRun) -> None:
    """Tell the project's live pages how the run stands."""
    events.publish(run.project_id, "run", run_body(run))


# The worker's side ------------------------------------------------------------------------


def leases_of_the_dead_release() -> int:
    """At a worker's start: queue again what processes of this host held that are gone."""
    held = BatchItem.objects.filter(state=JobState.RUNNING).exclude(lease_owner="")
    owners = held.values_list("lease_owner", flat=True).distinct()
    own = worker_name()  # in a container the new process often has the old one's pid
    gone = [owner for owner in owners if owner == own or owner_is_gone(owner)]
    return held.filter(lease_owner__in=gone).update(lease_until=clock.now() - timedelta(seconds=1))


def items_sweep() -> None:
    """Queue again what dead workers held; an item that killed them too often fails, traced."""
    now = clock.now()
    with transaction.atomic():
        hopeless = list(
            BatchItem.objects.filter(
                state=JobState.RUNNING, lease_until__lt=now, attempt__gte=MAX_ATTEMPTS
            )
            .select_for_update(skip_locked=True, of=("self",))
            .select_related("run")
        )
        at = clock.now_ns()
        for item in hopeless:
            result = ItemResult(item, at, at, input=item.variables, error=GAVE_UP)
            items_finish(owner=item.lease_owner, results=[result])
        jobs.requeue_expired(BatchItem.objects.all(), now=now, max_attempts=MAX_ATTEMPTS + 1)


def items_claim(*, owner: str, models: Sequence[str], limit: int) -> list[BatchItem]:
    """Take up to `limit` items for `owner`, oldest run first; their runs are fetched."""
    queue = BatchItem.objects.filter(run__model__in=models).select_related("run").order_by("id")
    items = jobs.claim(queue, owner=owner, limit=limit, lease=lease(), now=clock.now())
    fresh = {item.run_id for item in items if item.run.state == JobState.QUEUED}
    if fresh:
        BatchRun.objects.filter(pk__in=fresh, state=JobState.QUEUED).update(
            state=JobState.RUNNING, started_at=clock.now()
        )
    return items


def items_renew(*, owner: str, ids: Collection[int]) -> set[int]:
    """Extend the leases; returns the ids still held (others were canceled or taken away)."""
    return jobs.renew(BatchItem, ids, owner=owner, lease=lease(), now=clock.now())


def items_give_back(*, owner: str, ids: Collection[int]) -> None:
    """On an orderly stop: others may take them at once."""
    jobs.give_back(BatchItem, ids, owner=owner)


def items_finish(*, owner: str, results: Sequence[ItemResult]) -> int:
    """Write results and traces in one transaction; returns how many were still ours to write.

    An item that was taken away meanwhile is passed over, so that nothing is written twice.
    """
    written: list[ItemResult] = []
    with transaction.atomic():
        for result in sorted(results, key=lambda result: result.item.pk):
            failed = result.error is not None
            held = jobs.finish(
                BatchItem,
                result.item.pk,
                owner=owner,
                state=JobState.FAILED if failed else JobState.DONE,
                output=result.output,
                error=result.error or "",
                finished_at=clock.now(),
            )
            if held:
                written.append(result)
        for project_id in {result.item.run.project_id for result in written}:
            spans = [
                span
                for result in written
                if result.item.run.project_id == project_id
                for span in spans_of(_record(result))
            ]
            traces.spans_ingest(project_id=project_id, spans=spans)
        for run_id in sorted({result.item.run_id for result in written}):
            _count(run_id, [result for result in written if result.item.run_id == run_id])
    return len(written)


def _count(run_id: int, results: Sequence[ItemResult]) -> None:
    failed = sum(result.error is not None for result in results)
    BatchRun.objects.filter(pk=run_id).update(
        done=F("done") + len(results) - failed, failed=F("failed") + failed
    )
    run = BatchRun.objects.get(pk=run_id)
    if run.done + run.failed == run.total and run.state in OPEN:
        run.state = JobState.FAILED if run.failed == run.total else JobState.DONE
        run.finished_at = clock.now()
        run.save(update_fields=["state", "finished_at"])
    run_tell(run)


def _record(result: ItemResult) -> CallRecord:
    item, run = result.item, result.item.run
    return CallRecord(
        trace_id=item.trace_id,
        root_id=root_span_id(item.trace_id),
        name="batch item",
        start_ns=result.start_ns,
        end_ns=max(result.end_ns, result.start_ns),
        model=run.model,
        parameters=run.parameters,
        input=result.input,
        output=result.output
        if result.output is None
        else {"role": "assistant", "content": result.output},
        usage=result.usage,
        timings=result.timings,
        finish_reason=result.finish_reason,
        error=result.error,
        connection="local engine",
        is_local=True,
        prompt=(run.prompt_name, run.prompt_version),
        annotations=Annotations(
            trace_name=run.name,
            tags=("run",),
            metadata={"run_id": str(run.pk), "index": item.index, "attempt": item.attempt},
        ),
    )
