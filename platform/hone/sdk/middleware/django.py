"""For Django, sync and async: `MIDDLEWARE = ["hone.sdk.middleware.django.middleware", ...]`.

Stands first, so that the trace covers the others. Django itself is not imported here.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from opentelemetry import context as otel

from hone.sdk.context import swap
from hone.sdk.guard import guarded
from hone.sdk.middleware.request import RequestTrace, request_open

Handler = Callable[[Any], Any]
_TRACE = "_hone_trace"


def middleware(get_response: Handler) -> Handler:
    """The middleware of one handler; Django calls this once."""
    around = _async if inspect.iscoroutinefunction(get_response) else _sync
    made = around(get_response)
    made.process_exception = _failed  # type: ignore[attr-defined]
    return made


middleware.sync_capable = True  # type: ignore[attr-defined]
middleware.async_capable = True  # type: ignore[attr-defined]


def _sync(get_response: Handler) -> Handler:
    def handle(request: Any) -> Any:
        trace = _open(request)
        if trace is None:
            return get_response(request)
        trace.enter()
        inside = otel.get_current()
        try:
            response = get_response(request)
        except BaseException as error:
            trace.end(error)
            raise
        finally:
            trace.leave()
        _answered(trace, request, response, inside)
        return response

    return handle


def _async(get_response: Handler) -> Handler:
    async def handle(request: Any) -> Any:
        trace = _open(request)
        if trace is None:
            return await get_response(request)
        trace.enter()
        inside = otel.get_current()
        try:
            response = await get_response(request)
        except asyncio.CancelledError:
            trace.end(disconnected=True)  # Django cancels a view whose client has gone
            raise
        except BaseException as error:
            trace.end(error)
            raise
        finally:
            trace.leave()
        _answered(trace, request, response, inside)
        return response

    return handle


@guarded(None)
def _open(request: Any) -> RequestTrace | None:
    names = ("traceparent", "tracestate", "baggage")
    headers = {name: request.headers[name] for name in names if name in request.headers}
    trace = request_open(request.method or "GET", request.path, headers)
    setattr(request, _TRACE, trace)
    return trace


def _failed(request: Any, exception: BaseException) -> None:
    """A view raised; Django makes an answer of it, so that nobody else hears of it."""
    trace = getattr(request, _TRACE, None)
    if trace is not None:
        trace.error = exception


@guarded(None)
def _answered(trace: RequestTrace, request: Any, response: Any, inside: otel.Context) -> None:
    trace.status = response.status_code
    match = getattr(request, "resolver_match", None)
    trace.route = match.route if match is not None else None
    trace.user = _user(request)
    header = trace.response_header()
    if header is not None:
        response.headers[header[0]] = header[1]
    if not getattr(response, "streaming", False):
        trace.end(trace.error if response.status_code >= 500 else None)  # a 404 is raised, too
        return
    stream = _Stream(trace, inside)
    pieces = response.streaming_content
    is_async = hasattr(pieces, "__aiter__")
    response.streaming_content = stream.relay_async(pieces) if is_async else stream.relay(pieces)
    response._resource_closers.append(stream.close)


def _user(request: Any) -> str | None:
    """The user's key, only where somebody has looked the user up already: never a query of ours."""
    user = getattr(request, "_cached_user", None) or getattr(request, "_acached_user", None)
    if user is None or not user.is_authenticated:
        return None
    return str(user.pk)


class _Stream:
    """A streamed answer: it ends with its last piece, or when Django closes it before."""

    def __init__(self, trace: RequestTrace, inside: otel.Context) -> None:
        self._trace = trace
        self._inside = inside

    def relay(self, pieces: Iterator[Any]) -> Iterator[Any]:
        pieces = iter(pieces)
        try:
            while True:
                outside = swap(self._inside)
                try:
                    piece = next(pieces)
                except StopIteration:
                    break
                finally:
                    self._inside = swap(outside)
                yield piece
        except GeneratorExit:
            self.close()
            raise
        except BaseException as error:
            self._trace.end(error)
            raise
        self._trace.end()

    async def relay_async(self, pieces: AsyncIterator[Any]) -> AsyncIterator[Any]:
        outside = swap(self._inside)
        try:
            async for piece in pieces:
                self._inside = swap(outside)
                yield piece
                outside = swap(self._inside)
        except (GeneratorExit, asyncio.CancelledError):
            self.close()
            raise
        except BaseException as error:
            self._trace.end(error)
            raise
        finally:
            if otel.get_current() is self._inside:
                swap(outside)
        self._trace.end()

    def close(self) -> None:
        """Ends what has not ended yet: then the client has gone."""
        self._trace.end(disconnected=True)
