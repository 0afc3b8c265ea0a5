"""One raw span read into our span, through the tables of `keys`."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from hone.traces.core.dialects import keys
from hone.traces.core.dialects.kinds import type_of
from hone.traces.core.dialects.payload import copies_drop, metadata_of, payloads_of
from hone.traces.core.dialects.plan import Plan, plan_for
from hone.traces.core.dialects.usage import cost_of, usage_of
from hone.traces.core.dialects.values import (
    Attributes,
    decoded,
    first,
    first_text,
    instant_ns,
    json_mapping,
    seconds,
    texts,
    whole,
)
from hone.traces.core.otlp.raw import RawSpan, Scope
from hone.traces.core.span import Span

_STATUS: Final = {1: "ok", 2: "error"}
_KINDS: Final = {2: "server", 3: "client", 4: "producer", 5: "consumer"}
COMPLETION_START: Final = "langfuse.observation.completion_start_time"
STATUS_MESSAGE: Final = "langfuse.observation.status_message"
LEVEL: Final = "langfuse.observation.level"
RELEASE: Final = "langfuse.release"
VERSION: Final = "langfuse.version"
RESOURCE_RELEASE: Final = "langfuse.release"
RESOURCE_VERSION: Final = "service.version"
EXCEPTION_MESSAGE: Final = ("exception.message", "exception.type")
ERROR_TYPE: Final = "error.type"
_RESERVED: Final = re.compile(r"^(langfuse[-_]?)+")
_ENVIRONMENT: Final = re.compile(r"[a-z0-9_-]+")


class _Context(NamedTuple):
    """What the spans of one resource and scope have in common."""

    environment: str | None
    release: str | None
    version: str | None
    scope: str | None
    kept: dict[str, object]


def spans_of(raws: Iterable[RawSpan]) -> list[Span]:
    """Raw spans as spans. Attributes that no table knows stay in `attributes`, word for word."""
    contexts: dict[tuple[int, int], _Context] = {}
    spans = []
    for raw in raws:
        key = (id(raw.resource), id(raw.scope))
        context = contexts.get(key)
        if context is None:
            context = contexts[key] = _context(raw.resource, raw.scope)
        spans.append(_span(raw, context))
    return spans


def span_of(raw: RawSpan) -> Span:
    """One raw span as a span."""
    return _span(raw, _context(raw.resource, raw.scope))


def _context(resource: Attributes, scope: Scope) -> _Context:
    kept: dict[str, object] = {}
    if resource:
        kept["otel.resource"] = resource
    if scope.attributes:
        kept["otel.scope"] = scope.attributes
    return _Context(
        environment=_environment(resource, keys.ENVIRONMENT),
        release=first_text(resource, (RESOURCE_RELEASE,)),
        version=first_text(resource, (RESOURCE_VERSION,)),
        scope=f"{scope.name}@{scope.version}" if scope.version else scope.name or None,
        kept=kept,
    )


def _span(raw: RawSpan, context: _Context) -> Span:
    attributes = raw.attributes
    plan = plan_for(attributes)
    given, answer = payloads_of(raw, plan)
    status = _STATUS.get(raw.status_code, "unset")
    counts = plan.counts and _operation(attributes) not in keys.AGGREGATES
    prompt_name, prompt_version = _prompt(attributes, plan)
    return Span(
        trace_id=raw.trace_id,
        span_id=raw.span_id,
        parent_span_id=raw.parent_span_id,
        name=_name(raw, plan),
        type=type_of(attributes, plan),
        start_ns=raw.start_ns,
        end_ns=raw.end_ns,
        status=status,
        status_message=_status_message(raw),
        level=_level(attributes, status),
        model=_model(attributes, plan) if plan.model and counts else None,
        model_parameters=_parameters(attributes, plan),
        input=given,
        output=answer,
        metadata=metadata_of(raw, plan),
        attributes=_kept(raw, plan, context),
        events=raw.events,
        usage=usage_of(attributes, plan) if counts else None,
        cost=cost_of(attributes, plan) if counts else None,
        first_token_ns=_first_token_ns(raw, plan),
        prompt_name=prompt_name,
        prompt_version=prompt_version,
        session_id=first_text(attributes, plan.session) if plan.session else None,
        user_id=first_text(attributes, plan.user) if plan.user else None,
        environment=_environment(attributes, plan.environment) or context.environment
        if plan.environment
        else context.environment,
        release=first_text(attributes, (RELEASE,)) or context.release,
        version=first_text(attributes, (VERSION,)) or context.version,
        tags=texts(first(attributes, plan.tags)) if plan.tags else (),
        trace_name=first_text(attributes, plan.trace_name) if plan.trace_name else None,
        scope=context.scope,
    )


def _name(raw: RawSpan, plan: Plan) -> str:
    name = first_text(raw.attributes, plan.name) if plan.name else None
    if name is None and keys.FUNCTION in raw.attributes:
        function = first_text(raw.attributes, (keys.FUNCTION,))
        call = first_text(raw.attributes, (keys.FUNCTION_CALL,))
        name = f"{function}:{call}" if function and call else None
    return name or raw.name


def _kept(raw: RawSpan, plan: Plan, context: _Context) -> Mapping[str, object]:
    attributes = raw.attributes
    kept = {key: attributes[key] for key in plan.kept}
    if plan.copies:
        copies_drop(kept, attributes, plan)
    kept.update(context.kept)
    if raw.kind in _KINDS:
        kept["otel.kind"] = _KINDS[raw.kind]
    if raw.links:
        kept["otel.links"] = raw.links
    return kept


def _level(attributes: Attributes, status: str) -> str:
    given = attributes.get(LEVEL)
    level = keys.LEVELS.get(given.upper()) if isinstance(given, str) else None
    if level is None and keys.LEVEL_NUMBER in attributes:
        level = _level_numbered(attributes[keys.LEVEL_NUMBER])
    return level or ("ERROR" if status == "error" else "DEFAULT")


def _level_numbered(value: object) -> str | None:
    """The level of a severity of OpenTelemetry's; None for what is usual."""
    number = whole(value)
    if number is None or 9 <= number < 13:
        return None
    return "DEBUG" if number < 9 else "WARNING" if number < 17 else "ERROR"


def _status_message(raw: RawSpan) -> str | None:
    message = first_text(raw.attributes, (STATUS_MESSAGE,))
    if message or raw.status_message:
        return message or raw.status_message
    for event in raw.events:
        if event.name == "exception":
            return first_text(event.attributes, EXCEPTION_MESSAGE)
    return first_text(raw.attributes, (ERROR_TYPE,)) if raw.status_code == 2 else None


def _parameters(attributes: Attributes, plan: Plan) -> Mapping[str, object]:
    if plan.parameters:
        given = json_mapping(first(attributes, plan.parameters))
        if given is not None:
            return given
    return {name: attributes[key] for key, name in plan.parameter_pairs}


def _first_token_ns(raw: RawSpan, plan: Plan) -> int | None:
    at = instant_ns(raw.attributes.get(COMPLETION_START))
    if at is None and plan.first_token_seconds:
        after = seconds(first(raw.attributes, plan.first_token_seconds))
        at = None if after is None else raw.start_ns + int(after * 1e9)
    if at is None and plan.first_token_ms:
        after = seconds(first(raw.attributes, plan.first_token_ms))
        at = None if after is None else raw.start_ns + int(after * 1e6)
    if at is None and raw.events:
        times = [e.time_ns for e in raw.events if e.name in keys.FIRST_TOKEN_EVENTS]
        at = min(times, default=None)
    return at if at is not None and raw.start_ns <= at < 2**63 else None


def _operation(attributes: Attributes) -> str:
    given = (attributes.get(key) for key in keys.OPERATIONS)
    return next((value for value in given if isinstance(value, str)), "")


def _model(attributes: Attributes, plan: Plan) -> str | None:
    model = first_text(attributes, plan.model)
    if model is None or keys.MLFLOW_MODEL not in attributes:
        return model
    spelled = decoded(model)  # MLflow writes every attribute as JSON
    return spelled if isinstance(spelled, str) and spelled else model


def _prompt(attributes: Attributes, plan: Plan) -> tuple[str | None, int | str | None]:
    """Name and version of the prompt that a call is linked to."""
    name = first_text(attributes, plan.prompt_name) if plan.prompt_name else None
    version = first(attributes, plan.prompt_version) if plan.prompt_version else None
    link = json_mapping(attributes.get(keys.PROMPT_LINK)) if name is None else None
    if link is not None and link.get("isFallback") is not True:
        name, version = first_text(link, ("name",)), link.get("version")
    number = whole(version)
    return name, number if number is not None or not isinstance(version, str) else version


def _environment(attributes: Attributes, wanted: keys.Keys) -> str | None:
    given = first_text(attributes, wanted)
    return _environment_named(given) if given else None


@lru_cache(maxsize=256)
def _environment_named(given: str) -> str | None:
    """The environment in lower case; None (read as "default") for what is no such name."""
    name = _RESERVED.sub("", given.lower())[:40]
    return name if _ENVIRONMENT.fullmatch(name) else None
