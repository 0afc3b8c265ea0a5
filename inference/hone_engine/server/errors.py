"""Errors in OpenAI's shape, with the status codes its clients act on."""

from typing import Any

import orjson
from starlette.responses import Response

from hone_engine.types import EngineError, LoadingError, QueueFullError, RequestError


class ApiError(Exception):
    """An answer other than 200. `kind` is OpenAI's `type`."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ):
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.param = param
        self.code = code
        self.headers = headers or {}

    @property
    def body(self) -> dict[str, Any]:
        return {
            "error": {
                "message": self.message,
                "type": self.kind,
                "param": self.param,
                "code": self.code,
            }
        }

    def response(self) -> Response:
        """The error as an answer."""
        return Response(orjson.dumps(self.body), self.status, self.headers, "application/json")


def api_error(error: RequestError | QueueFullError | EngineError) -> ApiError:
    """What the engine raised, as its caller hears it."""
    if isinstance(error, RequestError):
        return ApiError(400, error.message, param=error.param, code=error.code)
    if isinstance(error, QueueFullError):
        return ApiError(
            429,
            str(error),
            kind="rate_limit_error",
            code="queue_full",
            headers={"retry-after": str(error.retry_after)},
        )
    if isinstance(error, LoadingError):
        return ApiError(
            503,
            str(error),
            kind="server_error",
            code="model_loading",
            headers={"retry-after": str(error.retry_after)},
        )
    return engine_failure(str(error))


def engine_failure(message: str) -> ApiError:
    """A failure inside of the engine: not the caller's fault, worth another try."""
    return ApiError(
        503, message, kind="server_error", code="engine_error", headers={"retry-after": "1"}
    )
