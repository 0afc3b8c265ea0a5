"""For any ASGI application: FastAPI, Starlette, Litestar, Quart, Django's ASGI handler."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from hone.sdk.middleware.request import RequestTrace, request_open

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
UserOf = Callable[[Scope], str | None]


class HoneMiddleware:
    """Opens a trace for each HTTP request; WebSockets and lifespan pass through untouched.

    `skip_paths` overrides that of `init`; `user` names the user of a finished request's scope.
    The trace ends with the last byte of the answer, or when the client hangs up.
    """

    def __init__(
        self,
        app: App,
        *,
        skip_paths: Iterable[str] | None = None,
        user: UserOf | None = None,
        trust_baggage: bool = False,
        response_header: bool = True,
    ) -> None:
        self.app = app
        self._skip_paths = None if skip_paths is None else tuple(skip_paths)
        self._user = user
        self._trust_baggage = trust_baggage
        self._response_header = response_header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        trace = self._open(scope) if scope["type"] == "http" else None
        if trace is None:
            await self.app(scope, receive, send)
            return
        header = trace.response_header() if self._response_header else None
        exchange = _Exchange(receive, send, trace, header, lambda: self._describe(trace, scope))
        trace.enter()
        try:
            await self.app(scope, exchange.receive, exchange.send)
        except BaseException as error:
            exchange.failed(error)
            raise
        else:
            exchange.ended()
        finally:
            trace.leave()

    def _open(self, scope: Scope) -> RequestTrace | None:
        try:
            names = (b"traceparent", b"tracestate", b"baggage")
            headers = {k.decode(): v.decode("latin-1") for k, v in scope["headers"] if k in names}
            return request_open(
                scope["method"],
                scope["path"],
                headers,
                skip_paths=self._skip_paths,
                trust_baggage=self._trust_baggage,
            )
        except Exception:
            return None

    def _describe(self, trace: RequestTrace, scope: Scope) -> None:
        try:
            trace.route = route_of(scope)
            trace.user = self._user(scope) if self._user is not None else user_of(scope)
        except Exception:
            return


class _Exchange:
    """Watches what the application and the client say to each other."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        trace: RequestTrace,
        header: tuple[str, str] | None,
        describe: Callable[[], None],
    ) -> None:
        self._receive = receive
        self._send = send
        self._trace = trace
        self._header = header
        self._describe = describe
        self._has_begun = False
        self._is_complete = False
        self._is_gone = False

    async def receive(self) -> Message:
        """What the client says: that it has gone, maybe."""
        message = await self._receive()
        if message["type"] == "http.disconnect" and not self._is_complete:
            self._is_gone = True
        return message

    async def send(self, message: Message) -> None:
        """What the application says; with the last of it the trace ends."""
        if message["type"] == "http.response.start":
            self._trace.status = message["status"]
            self._has_begun = True
            if self._header is not None:
                own = (self._header[0].encode(), self._header[1].encode())
                message = {**message, "headers": [*message.get("headers", ()), own]}
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._is_complete = True
            self.ended()

    def ended(self) -> None:
        """The answer is out, or the application has returned without finishing it."""
        self._describe()
        self._trace.end(disconnected=self._is_gone and not self._is_complete)

    def failed(self, error: BaseException) -> None:
        """The application raised; a server also raises into it when the client has gone."""
        self._describe()
        is_broken_pipe = isinstance(error, OSError) and self._has_begun
        is_canceled = isinstance(error, asyncio.CancelledError) and self._is_gone
        is_hang_up = is_broken_pipe or is_canceled
        self._trace.end(None if is_hang_up else error, disconnected=is_hang_up)


def route_of(scope: Scope) -> str | None:
    """The route's template, where the framework leaves it, or its parameters, in the scope."""
    route = scope.get("route")
    path = getattr(route, "path_format", None) or getattr(route, "path", None)
    if isinstance(path, str):
        mount = scope.get("root_path") or ""  # of the part of an application that answered
        is_below = scope["path"].startswith(mount) and not path.startswith(mount)
        return mount + path if is_below else path
    if "endpoint" not in scope:
        return None
    template = str(scope["path"])
    for name, value in (scope.get("path_params") or {}).items():
        template = f"{template}/".replace(f"/{value}/", f"/{{{name}}}/", 1)[:-1]
    return template


def user_of(scope: Scope) -> str | None:
    """The user's name or id, where an authentication middleware left one in the scope."""
    user = scope.get("user")
    if user is None or not getattr(user, "is_authenticated", False):
        return None
    for name in ("identity", "display_name", "username"):
        try:
            found = getattr(user, name, None)
        except Exception:
            continue
        if isinstance(found, str) and found:
            return found
    return None
