"""The REST edge: JSON in and out, and errors of every origin in one shape."""

from collections.abc import Mapping, Sequence
from typing import IO, Any

import orjson
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from psycopg_pool import PoolTimeout
from rest_framework import exceptions
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.response import Response

from hone.common.errors import (
    ConflictError,
    ForbiddenError,
    HoneError,
    InvalidError,
    NotFoundError,
    ThrottledError,
    TooLargeError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedError,
)
from hone.common.public.shapes import error_body

DATABASE_DOWN = (OperationalError, InterfaceError, PoolTimeout)


class MethodError(HoneError):
    status, code = 405, "method_not_allowed"


class NotAcceptableError(HoneError):
    status, code = 406, "not_acceptable"


class InternalError(HoneError):
    status, code = 500, "internal"


BY_STATUS: dict[int, type[HoneError]] = {
    kind.status: kind
    for kind in (
        InvalidError,
        UnauthenticatedError,
        ForbiddenError,
        NotFoundError,
        MethodError,
        NotAcceptableError,
        ConflictError,
        TooLargeError,
        UnsupportedError,
    )
}


def has_nul(value: Any) -> bool:
    """Whether any text in a JSON value holds a NUL character."""
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, dict):
        return any(has_nul(k) or has_nul(v) for k, v in value.items())
    return isinstance(value, list) and any(map(has_nul, value))


def json_loads(data: bytes) -> Any:
    """The value of a JSON text; raises InvalidError for what is no JSON or cannot be stored.

    PostgreSQL holds no NUL character in text, so one is refused here.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidError(f"The body is not valid JSON: {error}") from None
    if b"\\u0000" in data and has_nul(value):
        raise InvalidError("The body holds a NUL character, which cannot be stored")
    return value


class JsonParser(BaseParser):
    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return json_loads(stream.read() or b"{}")


class JsonRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else orjson.dumps(data, default=str, option=orjson.OPT_UTC_Z)


def first_problem(detail: Any, path: str = "") -> tuple[str, str | None]:
    """Message and dotted field of the first problem in a DRF error detail."""
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            below = path if key == "non_field_errors" else f"{path}.{key}".lstrip(".")
            return first_problem(value, below)
    if isinstance(detail, Sequence) and not isinstance(detail, str):
        for position, value in enumerate(detail):
            if value:
                indexed = isinstance(value, Mapping)
                return first_problem(value, f"{path}.{position}".lstrip(".") if indexed else path)
    return str(detail), path or None


def as_hone_error(error: Exception) -> HoneError | None:
    """The caller's view of `error`, or None where it is a bug of ours."""
    if isinstance(error, HoneError):
        return error
    if isinstance(error, exceptions.Throttled):
        wait_s = int(getattr(error, "wait", None) or 1)
        return ThrottledError(str(error.detail), retry_after_s=wait_s)
    if isinstance(error, exceptions.APIException):
        message, field = first_problem(error.detail)
        return BY_STATUS.get(error.status_code, InvalidError)(message, field=field)
    if isinstance(error, Http404):
        return NotFoundError("There is nothing at this address")
    if isinstance(error, PermissionDenied):
        return ForbiddenError(str(error) or "You may not do this")
    if isinstance(error, RequestDataTooBig):
        return TooLargeError("The body is too large")
    if isinstance(error, DataError):
        return InvalidError("A value cannot be stored: it is out of range or not valid text")
    if isinstance(error, DATABASE_DOWN):
        return UnavailableError("The database does not answer at present")
    return None


def exception_response(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """DRF's exception handler: our body, status and headers; None lets a bug surface as 500."""
    problem = as_hone_error(error)
    if problem is None:
        return None
    return Response(problem.body(), status=problem.status, headers=problem.headers())


def error_http(problem: HoneError, body: dict[str, object] | None = None) -> HttpResponse:
    """`problem` as a plain Django response, its own body unless one is given."""
    return HttpResponse(
        orjson.dumps(body or problem.body()),
        status=problem.status,
        content_type="application/json",
        headers=problem.headers(),
    )


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return error_http(InvalidError("The request is not valid"))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    problem = NotFoundError("There is nothing at this address")
    if request.path.startswith("/api/public/"):
        return error_http(problem, error_body(problem))
    return error_http(problem)


def server_error(request: HttpRequest) -> HttpResponse:
    return error_http(InternalError("Something went wrong on our side; the server's log says what"))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return error_http(ForbiddenError(f"The request lacks a valid CSRF token: {reason}"))
