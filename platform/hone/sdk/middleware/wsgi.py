"""For any WSGI application: Flask, Bottle, Django's WSGI handler."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opentelemetry import context as otel

from hone.sdk.context import swap
from hone.sdk.middleware.request import RequestTrace, request_open

Environ = dict[str, Any]
App = Callable[..., Iterable[bytes]]
Named = Callable[[Environ], str | None]


class HoneMiddleware:
    """Opens a trace for each request, which ends when the server has sent the whole answer.

    `route` and `user` name both from the environment after the call; by default they are what
    the application left there as `hone.route` and `REMOTE_USER`.
    """

    def __init__(
        self,
        app: App,
        *,
        skip_paths: Iterable[str] | None = None,
        route: Named | None = None,
        user: Named | None = None,
        trust_baggage: bool = False,
        response_header: bool = True,
    ) -> None:
        self.app = app
        self._skip_paths = None if skip_paths is None else tuple(skip_paths)
        self._route = route or (lambda environ: environ.get("hone.route"))
        self._user = user or (lambda environ: environ.get("REMOTE_USER"))
        self._trust_baggage = trust_baggage
        self._response_header = response_header

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        trace = self._open(environ)
        if trace is None:
            return self.app(environ, start_response)
        started = self._starting(trace, start_response)
        trace.enter()
        inside = otel.get_current()
        try:
            body = self.app(environ, started)
        except BaseException as error:
            trace.end(error)
            raise
        finally:
            trace.leave()
        self._describe(trace, environ)
        # Such a body is all there. Servers look at its length or send it in a way of their own.
        wrapper = environ.get("wsgi.file_wrapper")
        is_file = isinstance(wrapper, type) and isinstance(body, wrapper)
        if isinstance(body, list | tuple) or is_file:
            trace.end()
            return body
        return _Body(body, trace, inside)

    def _open(self, environ: Environ) -> RequestTrace | None:
        try:
            names = ("traceparent", "tracestate", "baggage")
            given = {name: environ.get(f"HTTP_{name.upper()}") for name in names}
            # WSGI hands bytes over as Latin-1 text.
            path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
            return request_open(
                environ["REQUEST_METHOD"],
                path.encode("latin-1").decode("utf-8", "replace"),
                {name: value for name, value in given.items() if value},
                skip_paths=self._skip_paths,
                trust_baggage=self._trust_baggage,
            )
        except Exception:
            return None

    def _starting(
        self, trace: RequestTrace, start_response: Callable[..., Any]
    ) -> Callable[..., Any]:
        header = trace.response_header() if self._response_header else None

        def started(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            number = status.partition(" ")[0]
            trace.status = int(number) if number.isdecimal() else None
            return start_response(status, [*headers, header] if header else headers, *rest)

        return started

    def _describe(self, trace: RequestTrace, environ: Environ) -> None:
        try:
            trace.route = self._route(environ)
            trace.user = self._user(environ)
        except Exception:
            return


class _Body:
    """A body that comes piece by piece, each piece made inside the trace."""

    def __init__(self, body: Iterable[bytes], trace: RequestTrace, inside: otel.Context) -> None:
        self._body = body
        self._pieces = iter(body)
        self._trace = trace
        self._inside = inside
        self._is_complete = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        outside = swap(self._inside)
        try:
            return next(self._pieces)
        except StopIteration:
            self._is_complete = True
            raise
        except BaseException as error:
            self._trace.end(error)
            raise
        finally:
            self._inside = swap(outside)

    def close(self) -> None:
        """The server is done: with everything, or because the client has gone."""
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        finally:
            self._trace.end(disconnected=not self._is_complete)
