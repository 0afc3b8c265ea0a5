"""The ASGI application."""

from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hone_engine.engine import EngineThread
from hone_engine.server.body import DisconnectedError
from hone_engine.server.errors import ApiError, api_error
from hone_engine.server.metrics import CONTENT_TYPE, render
from hone_engine.server.openai import OpenAI
from hone_engine.types import EngineError, QueueFullError, RequestError


def app(
    engine: EngineThread, *, api_key: str | None = None, stalled_after_s: float = 30.0
) -> Starlette:
    """The engine's HTTP face. With `api_key`, /v1 wants it as a bearer token; /health and /metrics
    are open. /health is 503 when the loop has not turned for `stalled_after_s` seconds."""
    openai = OpenAI(engine, api_key)

    async def health(request: Request) -> Response:
        return _health(engine, stalled_after_s)

    async def metrics(request: Request) -> Response:
        return Response(render(engine), media_type=CONTENT_TYPE)

    return Starlette(
        routes=[
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


def _health(engine: EngineThread, stalled_after_s: float) -> Response:
    """Whether the loop turns (200, or 503 with status "stalled"), and with what load."""
    info, stats, healthy = engine.info, engine.stats(), engine.healthy(stalled_after_s)
    body = {
        "status": "ok" if healthy else "stalled",
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
    return Response(orjson.dumps(body), 200 if healthy else 503, media_type="application/json")


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
