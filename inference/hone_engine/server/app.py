"""The ASGI application."""

import asyncio
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hone_engine.engine import EngineThread
from hone_engine.server.body import DisconnectedError, json_body
from hone_engine.server.errors import ApiError, api_error
from hone_engine.server.keys import check_key
from hone_engine.server.loading import Loader
from hone_engine.server.metrics import CONTENT_TYPE, render
from hone_engine.server.openai import OpenAI
from hone_engine.types import EngineError, QueueFullError, RequestError


def app(
    engine: EngineThread,
    *,
    api_key: str | None = None,
    loader: Loader | None = None,
    admin_key: str | None = None,
    stalled_after_s: float = 30.0,
) -> Starlette:
    """The engine's HTTP face. With `api_key`, /v1 wants it as a bearer token; /health and /metrics
    are open. /health is 503 when the loop has not turned for `stalled_after_s` seconds. With
    `loader` and `admin_key`, /admin/load changes the model for whoever has that key."""
    openai = OpenAI(engine, api_key)

    async def health(request: Request) -> Response:
        return _health(engine, stalled_after_s, loader)

    async def metrics(request: Request) -> Response:
        return Response(render(engine), media_type=CONTENT_TYPE)

    return Starlette(
        routes=[
            *(_admin(loader, admin_key) if loader and admin_key else ()),
            Route("/health", health),
            Route("/metrics", metrics),
            Route("/v1/models", openai.models),
            Route("/v1/models/{model:path}", openai.model),
            Route("/v1/chat/completions", openai.chat, methods=["POST"]),
            Route("/v1/completions", openai.text, methods=["POST"]),
        ],
        exception_handlers={
            ApiError: _refused,
            RequestError: _failed,
            QueueFullError: _failed,
            EngineError: _failed,
            DisconnectedError: _gone,
            HTTPException: _no_route,
            Exception: _defect,
        },
    )


def _admin(loader: Loader, key: str) -> list[Route]:
    """Changing the model, and how that goes."""

    async def load(request: Request) -> Response:
        check_key(request, key)
        if request.method == "GET":
            return Response(orjson.dumps(loader.state()), media_type="application/json")
        body = await json_body(request)
        for name in body:
            if name != "model":
                raise ApiError(400, f"{name} is unknown; wanted model", param=name)
        model = body.get("model")
        if model is not None and not isinstance(model, str):
            raise ApiError(400, f"model is {model!r}; wanted a name or null", param="model")
        await asyncio.to_thread(loader.load, model)
        return Response(orjson.dumps(loader.state()), 202, media_type="application/json")

    return [Route("/admin/load", load, methods=["GET", "POST"])]


def _status(engine: EngineThread, healthy: bool) -> str:
    if engine.is_loading:
        return "loading"
    if engine.missing:
        return "no model"
    return "ok" if healthy else "stalled"


def _health(engine: EngineThread, stalled_after_s: float, loader: Loader | None) -> Response:
    """Whether requests are taken (200, or 503 with status "stalled", "loading" or "no model"), and
    with what load."""
    info, stats, healthy = engine.info, engine.stats(), engine.healthy(stalled_after_s)
    status = _status(engine, healthy)
    body = {
        "status": status,
        "model": info.name,
        "device": info.device,
        "context_length": info.context_len,
        "memory_bytes": info.memory_bytes,
        "max_batch": info.max_batch,
        "running": stats.num_running,
        "waiting": stats.num_waiting,
        "kv_tokens_used": stats.kv_tokens_used,
        "kv_tokens_cached": stats.kv_tokens_cached,
        "kv_tokens_total": stats.kv_tokens_total,
        "tokens_per_second": round(stats.tokens_per_second, 2),
        "prompt_tokens_per_second": round(stats.prompt_tokens_per_second, 2),
        "heartbeat_age_s": round(stats.heartbeat_age_s, 3),
        "started_at": info.started_at,
    }
    if loader is not None:
        body["loading"] = loader.state()
    code = 200 if status == "ok" else 503
    return Response(orjson.dumps(body), code, media_type="application/json")


async def _refused(request: Request, error: Any) -> Response:
    response: Response = error.response()
    return response


async def _failed(request: Request, error: Any) -> Response:
    return api_error(error).response()


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=499)  # heard by nobody


async def _no_route(request: Request, error: Any) -> Response:
    path = request.url.path[:200]
    if error.status_code == 405:
        message = f"{request.method} is not allowed on {path}"
        return ApiError(
            405, message, code="method_not_allowed", headers=dict(error.headers or {})
        ).response()
    message = f"Unknown request URL: {request.method} {path}"
    return ApiError(error.status_code, message, code="unknown_url").response()


async def _defect(request: Request, error: Exception) -> Response:
    return ApiError(
        500, "the server failed on this request", kind="server_error", code="internal_error"
    ).response()
