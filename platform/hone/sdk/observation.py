"""One open observation: what a block of code says about itself until it ends."""

import datetime as dt
import time
from collections.abc import Mapping
from typing import Any, Final, Self

from opentelemetry import context as otel
from opentelemetry import trace as otel_trace
from opentelemetry.trace import Span, Status, StatusCode

from hone.sdk import keys
from hone.sdk.guard import guarded
from hone.sdk.options import MAX_VALUE_LEN
from hone.sdk.values import cut, error_text, value_text

UNSET: Final[Any] = object()
_CURRENT: Final = otel.create_key("hone-observation")
MAX_NAME_LEN: Final = 500
MAX_STACK_LEN: Final = 10_000


class Observation:
    """Made by `observe`, `span` and `generation`; every method may be called at any time.

    Where nothing is recorded (no `init`, or the trace is not sampled) all methods do nothing.
    """

    __slots__ = ("_before", "_inside", "_limit", "_metadata", "_pending", "_recording", "_span")

    def __init__(self, span: Span | None, limit: int = MAX_VALUE_LEN) -> None:
        self._span = span
        self._limit = limit
        self._recording = span is not None and span.is_recording()
        self._pending: dict[str, Any] = {}
        self._metadata: dict[str, Any] | None = None
        self._inside: otel.Context | None = None
        self._before: otel.Context | None = None

    @property
    def trace_id(self) -> str | None:
        """32 hex digits; None where nothing is recorded."""
        return None if self._span is None else f"{self._span.get_span_context().trace_id:032x}"

    @property
    def id(self) -> str | None:
        """16 hex digits; None where nothing is recorded."""
        return None if self._span is None else f"{self._span.get_span_context().span_id:016x}"

    @property
    def is_recording(self) -> bool:
        """Whether what is said still arrives."""
        return self._recording

    def update(
        self,
        *,
        name: str | None = None,
        kind: str | None = None,
        input: object = UNSET,
        output: object = UNSET,
        model: str | None = None,
        parameters: Mapping[str, object] | None = None,
        usage: object = None,
        cost: object = None,
        metadata: Mapping[str, object] | None = None,
        level: str | None = None,
        status_message: str | None = None,
        prompt: Any = None,
        session: str | None = None,
        user: str | None = None,
        tags: object = None,
    ) -> Self:
        """Say more; later values win, metadata is merged by key.

        `usage` is OpenAI's object or `{"input": 3, "output": 5}`, `cost` is in USD, `prompt` is
        what `get_prompt` gave. Values are written down now: changing them later has no effect.
        """
        if not self._recording:
            return self
        self._payloads(input, output)
        if metadata:
            self._merge(metadata)
        said = (name, kind, model, parameters, usage, cost, level, status_message, prompt)
        if any(value is not None for value in said):
            self._describe(*said)
        if session is not None or user is not None or tags is not None:
            self._label(session, user, tags)
        return self

    def first_token(self) -> Self:
        """The answer has begun; only the first call counts."""
        if self._recording and keys.FIRST_TOKEN not in self._pending:
            now = dt.datetime.fromtimestamp(time.time(), dt.UTC)
            self._pending[keys.FIRST_TOKEN] = now.isoformat()
        return self

    def attribute(self, key: str, value: str | int | float | bool) -> Self:
        """Any attribute of OpenTelemetry's, kept word for word."""
        if self._recording:
            self._pending[key] = value
        return self

    def fail(self, error: BaseException) -> Self:
        """What was observed raised: the level is ERROR, for a cancellation WARNING."""
        if self._recording and not isinstance(error, GeneratorExit):
            self._fail(error)
        return self

    def end(self) -> None:
        """It is over; later calls change nothing."""
        if self._recording:
            self._recording = False
            self._end()

    def enter(self) -> Self:
        """Become the current observation: spans started from now on are inside."""
        span = self._span
        if span is not None and self._inside is None:
            self._before = otel.get_current()
            context = otel_trace.set_span_in_context(span, self._before)
            self._inside = otel.set_value(_CURRENT, self, context)
            otel.attach(self._inside)
        return self

    def leave(self) -> None:
        """The observation before becomes the current one again."""
        inside, self._inside = self._inside, None
        if inside is not None and self._before is not None and otel.get_current() is inside:
            otel.attach(self._before)

    @guarded(None)
    def _payloads(self, given: object, answer: object) -> None:
        if given is not UNSET and given is not None:
            self._pending[keys.INPUT] = value_text(given, self._limit)
        if answer is not UNSET and answer is not None:
            self._pending[keys.OUTPUT] = value_text(answer, self._limit)

    @guarded(None)
    def _merge(self, metadata: Mapping[str, object]) -> None:
        self._metadata = {**(self._metadata or {}), **metadata}
        self._pending[keys.METADATA] = value_text(self._metadata, self._limit)

    @guarded(None)
    def _describe(
        self,
        name: str | None,
        kind: str | None,
        model: str | None,
        parameters: Mapping[str, object] | None,
        usage: object,
        cost: object,
        level: str | None,
        status_message: str | None,
        prompt: Any,
    ) -> None:
        pending = self._pending
        if name is not None and self._span is not None:
            self._span.update_name(cut(str(name), MAX_NAME_LEN))
        if kind in keys.KINDS:
            pending[keys.TYPE] = kind
        if model is not None:
            pending[keys.MODEL] = str(model)
        mappings = ((keys.PARAMETERS, parameters), (keys.USAGE, usage), (keys.COST, cost))
        for key, mapping in mappings:
            if mapping is not None:
                pending[key] = value_text(mapping, self._limit)
        if level is not None and level.upper() in keys.LEVELS:
            pending[keys.LEVEL] = level.upper()
        if status_message is not None:
            pending[keys.STATUS_MESSAGE] = cut(str(status_message), MAX_STACK_LEN)
        if prompt is not None and not prompt.is_fallback:
            pending[keys.PROMPT_NAME] = prompt.name
            pending[keys.PROMPT_VERSION] = prompt.version

    @guarded(None)
    def _label(self, session: str | None, user: str | None, tags: object) -> None:
        if session is not None:
            self._pending[keys.SESSION] = cut(str(session), MAX_NAME_LEN)
        if user is not None:
            self._pending[keys.USER] = cut(str(user), MAX_NAME_LEN)
        if tags is not None:
            listed = [tags] if isinstance(tags, str) else list(tags)  # type: ignore[call-overload]
            self._pending[keys.TAGS] = [str(tag) for tag in listed]

    @guarded(None)
    def _fail(self, error: BaseException) -> None:
        said = error_text(error)
        self._pending[keys.STATUS_MESSAGE] = said
        if not isinstance(error, Exception):
            self._pending[keys.LEVEL] = "WARNING"  # cancelled, interrupted: nobody's mistake
            return
        self._pending[keys.LEVEL] = "ERROR"
        self._pending["error.type"] = type(error).__qualname__
        if self._span is not None:
            self._span.set_status(Status(StatusCode.ERROR, said))
            self._span.add_event("exception", exception_attributes(error, said))

    @guarded(None)
    def _end(self) -> None:
        if self._span is not None:
            try:
                self._span.set_attributes(self._pending)
            finally:
                self._span.end()


def exception_attributes(error: BaseException, said: str) -> dict[str, str]:
    """What OpenTelemetry calls an exception event's attributes, the stack from its inner end."""
    stack = "".join(stack_of(error))
    return {
        "exception.type": type(error).__qualname__,
        "exception.message": said,
        "exception.stacktrace": stack[-MAX_STACK_LEN:],
    }


def stack_of(error: BaseException) -> list[str]:
    """Files, lines and functions of the traceback; no source is read from disk."""
    lines: list[str] = []
    step = error.__traceback__
    while step is not None and len(lines) < 200:
        code = step.tb_frame.f_code
        lines.append(f'  File "{code.co_filename}", line {step.tb_lineno}, in {code.co_qualname}\n')
        step = step.tb_next
    return lines


NOTHING: Final = Observation(None)


def current() -> Observation:
    """The observation that the running code is inside of; one that does nothing outside of any."""
    found = otel.get_value(_CURRENT)
    return found if isinstance(found, Observation) else NOTHING
