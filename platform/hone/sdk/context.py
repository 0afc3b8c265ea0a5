"""What goes along with a call: the current observation, and session, user, tags and metadata.

The values live in OpenTelemetry's context, so they follow asyncio tasks by themselves, threads
through `carry`, and other processes through `headers_out` and `continued`.
"""

import contextvars
import functools
import json
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, ParamSpec, TypeVar

from opentelemetry import baggage
from opentelemetry import context as otel
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hone.sdk import keys
from hone.sdk.guard import guarded
from hone.sdk.values import cut, value_text

P = ParamSpec("P")
R = TypeVar("R")

MAX_LABEL_LEN: Final = 500  # characters of a session, user, tag or trace name
MAX_TAGS: Final = 50
MAX_METADATA_LEN: Final = 10_000
MAX_BAGGAGE_LEN: Final = 4096  # characters of one entry that crosses a process's border
_ATTRIBUTES: Final = otel.create_key("hone-propagated")
_CROSSES: Final = otel.create_key("hone-crosses")  # whether they leave as baggage
_BAGGAGE: Final = "hone.propagated"
_NOTHING: Final[Mapping[str, Any]] = {}
_traceparent: Final = TraceContextTextMapPropagator()


def propagated(context: otel.Context | None = None) -> Mapping[str, Any]:
    """Attributes that every span started in this context gets."""
    found = otel.get_value(_ATTRIBUTES, context)
    return found if isinstance(found, dict) else _NOTHING


def swap(context: otel.Context) -> otel.Context:
    """Make `context` the current one; the one before comes back.

    Never a token: a generator may be closed in another context, where resetting one raises.
    """
    before = otel.get_current()
    otel.attach(context)
    return before


@contextmanager
def propagate(
    *,
    session: str | None = None,
    user: str | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, object] | None = None,
    trace_name: str | None = None,
    across_processes: bool = False,
) -> Iterator[None]:
    """Every span started inside carries these values; inner blocks add to outer ones.

    `across_processes` lets them leave as W3C baggage, readable by whoever is called.
    """
    given = _attributes(session, user, tags, metadata, trace_name)
    inside = _with(given, across_processes) if given is not None else otel.get_current()
    before = swap(inside)
    try:
        yield
    finally:
        if otel.get_current() is inside:
            otel.attach(before)


def carry(function: Callable[P, R]) -> Callable[P, R]:
    """`function` bound to the present context, for a thread: `executor.submit(carry(work), 1)`."""
    context = contextvars.copy_context()

    @functools.wraps(function)
    def carried(*args: P.args, **kwargs: P.kwargs) -> R:
        # A copy a call: one context cannot be entered by two threads at once.
        return context.copy().run(function, *args, **kwargs)

    return carried


@guarded(None)
def headers_out(headers: MutableMapping[str, str]) -> None:
    """Write `traceparent`, and `baggage` if `propagate` allowed it, into outgoing headers."""
    _traceparent.inject(headers)
    if otel.get_value(_CROSSES):
        text = urllib.parse.quote(json.dumps(dict(propagated()), default=list), safe="")
        if len(text) <= MAX_BAGGAGE_LEN:
            others = headers.get("baggage")
            own = f"{_BAGGAGE}={text}"
            headers["baggage"] = f"{others},{own}" if others else own


def context_in(headers: Mapping[str, str], *, trust_baggage: bool = False) -> otel.Context:
    """The context that incoming headers (lower-case names) describe; the current one without."""
    try:
        context = _traceparent.extract(headers)
        if trust_baggage and "baggage" in headers:
            return _with_baggage(context, headers["baggage"])
    except Exception:
        return otel.get_current()
    return context


@contextmanager
def continued(headers: Mapping[str, str], *, trust_baggage: bool = False) -> Iterator[None]:
    """Spans started inside belong to the trace that `headers` names."""
    lower = {name.lower(): value for name, value in headers.items()}
    inside = context_in(lower, trust_baggage=trust_baggage)
    before = swap(inside)
    try:
        yield
    finally:
        if otel.get_current() is inside:
            otel.attach(before)


def _with(given: Mapping[str, Any], across_processes: bool) -> otel.Context:
    outer = propagated()
    merged = {**outer, **given}
    tags = [*outer.get(keys.TAGS, ()), *given.get(keys.TAGS, ())]
    if tags:
        merged[keys.TAGS] = tuple(dict.fromkeys(tags))[:MAX_TAGS]
    if keys.TRACE_METADATA in outer and keys.TRACE_METADATA in given:
        both = [json.loads(side[keys.TRACE_METADATA]) for side in (outer, given)]
        merged[keys.TRACE_METADATA] = json.dumps(both[0] | both[1], ensure_ascii=False)
    context = otel.set_value(_ATTRIBUTES, merged)
    return otel.set_value(_CROSSES, True, context) if across_processes else context


@guarded(None)
def _attributes(
    session: object,
    user: object,
    tags: Sequence[object],
    metadata: Mapping[str, object] | None,
    trace_name: object,
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    labels = ((keys.SESSION, session), (keys.USER, user), (keys.TRACE_NAME, trace_name))
    for key, value in labels:
        if value is not None:
            found[key] = cut(str(value), MAX_LABEL_LEN)
    if tags:
        listed = [tags] if isinstance(tags, str) else list(tags)
        found[keys.TAGS] = tuple(cut(str(tag), MAX_LABEL_LEN) for tag in listed[:MAX_TAGS])
    if metadata:
        found[keys.TRACE_METADATA] = value_text(dict(metadata), MAX_METADATA_LEN)
    return found


def _with_baggage(context: otel.Context, header: str) -> otel.Context:
    for entry in header.split(","):
        name, _, value = entry.partition("=")
        if name.strip() == _BAGGAGE and len(value) <= MAX_BAGGAGE_LEN:
            given = json.loads(urllib.parse.unquote(value.partition(";")[0].strip()))
            known = {k: given[k] for k in _ACROSS if isinstance(given.get(k), str)}
            tags = given.get(keys.TAGS)
            if isinstance(tags, list):
                known[keys.TAGS] = tuple(str(tag)[:MAX_LABEL_LEN] for tag in tags[:MAX_TAGS])
            context = otel.set_value(_CROSSES, True, otel.set_value(_ATTRIBUTES, known, context))
    return baggage.clear(context)


_ACROSS: Final = (keys.SESSION, keys.USER, keys.TRACE_NAME, keys.TRACE_METADATA)
