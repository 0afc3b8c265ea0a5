"""Reads: connections, models, the engine's state, runs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from hone.accounts.models import Project
from hone.common import clock
from hone.common.errors import InvalidError, NotFoundError
from hone.common.jobs import JobState
from hone.gateway.models import BatchItem, BatchRun, Connection, EngineState, Kind

STALE_AFTER = timedelta(seconds=10)  # without a heartbeat an engine is down


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model that a project can call."""

    id: str
    connection: str
    kind: str
    context_length: int | None
    status: str  # ready, starting, down


def engine_state(connection: Connection, now: datetime) -> str:
    """ready, starting or down."""
    if connection.heartbeat_at is None or connection.heartbeat_at < now - STALE_AFTER:
        return "down"
    return connection.state


def connections_visible(project_id: int) -> QuerySet[Connection, Connection]:
    """A project's connections, local engines first, the latest heard of before others."""
    return Connection.objects.filter(Q(project_id=project_id) | Q(kind=Kind.LOCAL)).order_by(
        "kind", "-heartbeat_at", "name"
    )


def connection_get(project: Project, connection_id: int) -> Connection:
    """A remote connection of the project; raises NotFoundError."""
    found = Connection.objects.filter(project=project, kind=Kind.REMOTE, pk=connection_id).first()
    if found is None:
        raise NotFoundError(f"There is no connection {connection_id}")
    return found


def models_list(project_id: int) -> list[ModelRow]:
    """The models a project can call; of one name each only the first."""
    now = clock.now()
    found: dict[str, ModelRow] = {}
    for row in connections_visible(project_id):
        is_local = row.kind == Kind.LOCAL
        status = engine_state(row, now) if is_local else "ready"
        length = row.info.get("context_length") if is_local else None
        for name in row.model_names:
            known = found.get(name)
            if known is None or (known.status != "ready" and status == "ready"):
                found[name] = ModelRow(name, row.name, row.kind, length, status)
    return list(found.values())


def engine_get() -> dict[str, Any]:
    """The local engine as the interface shows it; of several the one heard of latest."""
    row = Connection.objects.filter(kind=Kind.LOCAL).order_by("-heartbeat_at").first()
    state = "down" if row is None else engine_state(row, clock.now())
    info: Mapping[str, Any] = row.info if row is not None and state != "down" else {}
    names = (
        "device",
        "context_length",
        "running",
        "waiting",
        "kv_tokens_used",
        "kv_tokens_total",
        "tokens_per_second",
        "memory_bytes",
    )
    model = row.model_names[0] if row is not None and row.model_names else None
    return {"state": state, "model": model, **{name: info.get(name) for name in names}}


def local_model_ready(name: str) -> bool:
    """Whether a local engine with this model is there (it may be starting)."""
    rows = Connection.objects.filter(kind=Kind.LOCAL, state=EngineState.READY)
    return any(name in row.model_names for row in rows)


def runs_list(project: Project) -> QuerySet[BatchRun, BatchRun]:
    return BatchRun.objects.filter(project=project)


def run_get(project: Project, run_id: int) -> BatchRun:
    """Raises NotFoundError."""
    found = BatchRun.objects.filter(project=project, pk=run_id).first()
    if found is None:
        raise NotFoundError(f"There is no run {run_id}")
    return found


def run_items(run: BatchRun, states: Sequence[str] = ()) -> QuerySet[BatchItem, BatchItem]:
    """The run's items, of all states or of some; raises InvalidError for an unknown state."""
    if unknown := sorted(set(states) - set(JobState.values)):
        raise InvalidError(f"state: there is no state {unknown[0][:40]!r}", field="state")
    items = BatchItem.objects.filter(run=run)
    return items.filter(state__in=states) if states else items


def run_body(run: BatchRun) -> dict[str, Any]:
    """A run as the API and the live feed tell it; rate in items/s, eta in seconds."""
    rate, eta = _speed(run)
    return {
        "id": str(run.pk),
        "name": run.name,
        "state": run.state,
        "prompt": {"name": run.prompt_name, "version": run.prompt_version},
        "model": run.model,
        "parameters": run.parameters,
        "author": run.author,
        "total": run.total,
        "done": run.done,
        "failed": run.failed,
        "rate": rate,
        "eta_s": eta,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }


def _speed(run: BatchRun) -> tuple[float | None, float | None]:
    if run.started_at is None:
        return None, None
    seconds = ((run.finished_at or clock.now()) - run.started_at).total_seconds()
    closed = run.done + run.failed
    rate = closed / seconds if seconds > 0 and closed else None
    left = run.total - closed
    if run.state != JobState.RUNNING or rate is None:
        return rate, None
    return rate, left / rate


def item_body(item: BatchItem) -> dict[str, Any]:
    """An item as the API tells it."""
    return {
        "index": item.index,
        "state": item.state,
        "variables": item.variables,
        "output": item.output,
        "error": item.error or None,
        "trace_id": item.trace_id if item.state in (JobState.DONE, JobState.FAILED) else None,
        "attempt": item.attempt,
    }


def model_body(row: ModelRow) -> dict[str, Any]:
    """A model as the API tells it."""
    return asdict(row)
