"""Writes of connections, and finding the one that serves a model."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import httpx
from django.db import IntegrityError, transaction

from hone.accounts.models import Project
from hone.common import clock, crypto
from hone.common.database import database_call
from hone.common.errors import ConflictError, InvalidError
from hone.gateway.core.addresses import base_url_clean
from hone.gateway.core.errors import GatewayError
from hone.gateway.core.stream import error_message
from hone.gateway.models import Connection, Kind
from hone.gateway.selectors import connections_visible, engine_state, models_list
from hone.gateway.services.upstream import client_for

PURPOSE = "connection-api-key"
MAX_MODELS = 500
MAX_KEY_LEN = 4000
CACHE_S = 1.0
TEST_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where a request goes."""

    connection_id: int
    name: str
    base_url: str
    model: str  # as the address takes it
    is_local: bool
    api_key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.api_key}"} if self.api_key else {}


@transaction.atomic
def connection_create(
    *, project: Project, name: str, base_url: str, api_key: str = "", models: list[str]
) -> Connection:
    """A new remote connection; raises InvalidError, ConflictError."""
    row = Connection(project=project, kind=Kind.REMOTE)
    return _save(row, {"name": name, "base_url": base_url, "api_key": api_key, "models": models})


@transaction.atomic
def connection_update(*, connection: Connection, changes: dict[str, Any]) -> Connection:
    """Change some of name, base_url, api_key, models; raises InvalidError, ConflictError.

    A new address without a new key forgets the old key: it was meant for the old address.
    """
    moved = changes.get("base_url", connection.base_url).rstrip("/") != connection.base_url
    if moved and "api_key" not in changes:
        changes = {**changes, "api_key": ""}
    return _save(connection, changes)


def connection_delete(*, connection: Connection) -> None:
    connection.delete()
    upstreams_forget()


def _save(row: Connection, values: dict[str, Any]) -> Connection:
    if "name" in values:
        row.name = _name(values["name"])
    if "base_url" in values:
        try:
            row.base_url = base_url_clean(values["base_url"])
        except GatewayError as error:
            raise InvalidError(error.message, field=error.param) from None
    if "models" in values:
        row.model_names = _models(values["models"])
    if "api_key" in values:
        _set_key(row, values["api_key"])
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        raise ConflictError(f"name: {row.name!r} is taken", field="name") from None
    transaction.on_commit(upstreams_forget)
    return row


def _name(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not 1 <= len(text) <= 80 or not text.isprintable() or "/" in text:
        raise InvalidError("name: want 1 to 80 printable characters without /", field="name")
    return text


def _models(value: object) -> list[str]:
    # None yet is fine: the address is saved first, then asked for its models.
    if not isinstance(value, list) or len(value) > MAX_MODELS:
        raise InvalidError(f"models: want a list of at most {MAX_MODELS} names", field="models")
    for name in value:
        if not isinstance(name, str) or not 1 <= len(name.strip()) <= 200:
            raise InvalidError("models: each name is a text of 1 to 200 characters", field="models")
    return list(dict.fromkeys(name.strip() for name in value))


def _set_key(row: Connection, key: object) -> None:
    if (
        not isinstance(key, str)
        or len(key) > MAX_KEY_LEN
        or not (key.isascii() and key.isprintable())
    ):
        raise InvalidError("api_key: want a text of printable ASCII characters", field="api_key")
    key = key.strip()
    row.sealed_api_key = crypto.encrypt(PURPOSE, key) if key else ""
    row.api_key_hint = f"…{key[-4:]}" if len(key) >= 12 else ""


def connection_body(row: Connection) -> dict[str, Any]:
    """A connection as the API tells it: never its secret."""
    is_local = row.kind == Kind.LOCAL
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "base_url": row.base_url,
        "models": row.model_names,
        "has_api_key": bool(row.sealed_api_key),
        "api_key_hint": row.api_key_hint or None,
        "status": engine_state(row, clock.now()) if is_local else "ready",
        "read_only": is_local,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def _upstream(row: Connection, model: str) -> Upstream:
    key = crypto.decrypt(PURPOSE, row.sealed_api_key) if row.sealed_api_key else ""
    return Upstream(row.pk, row.name, row.base_url, model, row.kind == Kind.LOCAL, key)


def upstreams_for(project_id: int, model: str) -> list[Upstream]:
    """Who serves `model` (or `connection/model`) for a project, the best first; may be empty.

    Engines that are starting or silent are left out.
    """
    now = clock.now()
    rows = [
        row
        for row in connections_visible(project_id)
        if row.kind == Kind.REMOTE or engine_state(row, now) == "ready"
    ]
    found = [_upstream(row, model) for row in rows if model in row.model_names]
    name, slash, rest = model.partition("/")
    if not found and slash:
        found = [
            _upstream(row, rest) for row in rows if row.name == name and rest in row.model_names
        ]
    return found


def model_missing(project_id: int, model: str) -> GatewayError:
    """Why nobody serves `model`: its engine is not there at present (503), or unknown (404)."""
    row = next((row for row in models_list(project_id) if row.id == model), None)
    if row is not None and row.status != "ready":
        text = f"The engine of {model!r} is {row.status}; try again in a few seconds"
        return GatewayError(503, text, code="engine_unavailable", retry_after_s=3)
    text = f"There is no model {model[:200]!r}; GET /v1/models lists what there is"
    return GatewayError(404, text, param="model", code="model_not_found")


_cache: dict[tuple[int, str], tuple[float, list[Upstream]]] = {}


def upstreams_forget() -> None:
    """Ask the database again at the next call, as after a refused connection."""
    _cache.clear()


async def upstreams_for_async(project_id: int, model: str) -> list[Upstream]:
    """`upstreams_for`, remembered for a second: a busy model costs no query a call."""
    key = (project_id, model)
    found = _cache.get(key)
    if found is not None and found[0] > time.monotonic():
        return found[1]
    upstreams = await database_call(upstreams_for, project_id, model)
    if len(_cache) > 1000:
        _cache.clear()
    if upstreams:
        _cache[key] = (time.monotonic() + CACHE_S, upstreams)
    return upstreams


def connection_test(*, connection: Connection) -> dict[str, Any]:
    """Ask the address for its models: {"ok", "models", "error"}; never raises for what it says."""
    return asyncio.run(_test(_upstream(connection, "")))


async def _test(upstream: Upstream) -> dict[str, Any]:
    try:
        async with client_for(upstream.is_local, pooled=False) as client:
            answer = await client.get(
                f"{upstream.base_url}/models", headers=upstream.headers, timeout=TEST_TIMEOUT_S
            )
        if answer.status_code != 200:
            text = f"{answer.status_code}: {error_message(answer.content)}"
            return {"ok": False, "models": [], "error": text}
        names = [str(row["id"]) for row in answer.json()["data"]][:MAX_MODELS]
    except httpx.HTTPError as error:
        return {"ok": False, "models": [], "error": str(error) or type(error).__name__}
    except (ValueError, KeyError, TypeError):
        return {"ok": False, "models": [], "error": "The answer is no list of models"}
    return {"ok": True, "models": names, "error": None}
