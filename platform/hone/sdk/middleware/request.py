"""One HTTP request as an observation, whatever the framework."""

from collections.abc import Mapping
from typing import Final, Self

from opentelemetry.trace import SpanKind

from hone.sdk.client import client
from hone.sdk.context import context_in, headers_out
from hone.sdk.guard import guarded
from hone.sdk.observation import NOTHING, Observation

MAX_PATH_LEN: Final = 500
DISCONNECTED: Final = "the client disconnected"
RESPONSE_HEADER: Final = "traceresponse"


class RequestTrace:
    """Opened when a request comes in, closed when its answer is out or given up."""

    def __init__(self, observation: Observation, method: str) -> None:
        self.observation = observation
        self._method = method
        self.status: int | None = None
        self.route: str | None = None
        self.user: str | None = None
        self.error: BaseException | None = None  # what a framework made an answer of

    def enter(self) -> Self:
        """The application's code runs inside from here."""
        self.observation.enter()
        return self

    def leave(self) -> None:
        """It no longer does; the observation goes on."""
        self.observation.leave()

    def response_header(self) -> tuple[str, str] | None:
        """`traceresponse`, by which a caller finds the trace of its request."""
        found: dict[str, str] = {}
        if self.observation.is_recording:
            self.observation.enter()
            headers_out(found)
            self.observation.leave()
        value = found.get("traceparent")
        return (RESPONSE_HEADER, value) if value else None

    def end(self, error: BaseException | None = None, *, disconnected: bool = False) -> None:
        """The answer is out, or there will be none; only the first call counts."""
        if self.observation.is_recording:
            self._say(error, disconnected)
            self.observation.end()

    @guarded(None)
    def _say(self, error: BaseException | None, disconnected: bool) -> None:
        observation, route = self.observation, self.route
        if route:
            route = route if route.startswith(("/", "^")) else f"/{route}"
            observation.update(name=f"{self._method} {route}").attribute("http.route", route)
        if self.user:
            observation.update(user=self.user)
        if self.status is not None:
            observation.attribute("http.response.status_code", self.status)
        if error is not None:
            observation.fail(error)
        elif self.status is not None and self.status >= 500:
            observation.update(level="ERROR", status_message=f"HTTP {self.status}")
        if disconnected:
            observation.update(level="WARNING", status_message=DISCONNECTED)


def request_open(
    method: str,
    path: str,
    headers: Mapping[str, str],
    *,
    skip_paths: tuple[str, ...] | None = None,
    trust_baggage: bool = False,
) -> RequestTrace | None:
    """The trace of a request; `headers` have lower-case names. None where none is wanted."""
    found = client()
    if found is None:
        return None
    skipped = found.options.skip_paths if skip_paths is None else skip_paths
    if is_below(path, skipped):
        return None
    return _opened(method, path, headers, trust_baggage)


def is_below(path: str, prefixes: tuple[str, ...]) -> bool:
    """Whether `path` is one of the prefixes or below it."""
    return any(path == p or path.startswith(p.rstrip("/") + "/") for p in prefixes)


@guarded(None)
def _opened(
    method: str, path: str, headers: Mapping[str, str], trust_baggage: bool
) -> RequestTrace | None:
    found = client()
    if found is None:
        return None
    context = context_in(headers, trust_baggage=trust_baggage)
    short = path[:MAX_PATH_LEN]
    observation = found.open(
        f"{method} {short}", "span", context=context, span_kind=SpanKind.SERVER
    )
    if observation is NOTHING:
        return None
    observation.attribute("http.request.method", method).attribute("url.path", short)
    return RequestTrace(observation, method)
