"""The state of one call, how many are open, and its trace when it is over."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import httpx
import structlog
from django.conf import settings

from hone.common import clock
from hone.gateway.core.errors import GatewayError
from hone.gateway.core.request import Annotations, CompletionRequest, annotations_parse
from hone.gateway.core.spans import CallRecord, spans_of
from hone.gateway.core.stream import Answer
from hone.gateway.core.traceparent import traceparent_parse
from hone.gateway.services.connections import Upstream
from hone.prompts.selectors import Resolved
from hone.traces import services as traces
from hone.traces.core.span import span_id_new, trace_id_new

log = structlog.get_logger(__name__)
NAMES = {"chat": "chat completion", "text": "text completion"}
TRACE_PATIENCE_S = 5.0

_running: set[asyncio.Task[None]] = set()
_num_open = 0


@dataclass(slots=True)
class Call:
    """The state of one call while it runs."""

    project_id: int
    kind: str
    trace_id: str
    root_id: str
    parent_span_id: str | None
    start_ns: int
    annotations: Annotations = field(default_factory=Annotations)
    request: CompletionRequest | None = None
    raw_input: object = None
    resolved: Resolved | None = None
    upstream: Upstream | None = None
    answer: Answer = field(default_factory=Answer)
    response: httpx.Response | None = None
    error: str | None = None
    aborted: bool = False
    traced: bool = False
    counted: bool = False

    @property
    def headers(self) -> dict[str, str]:
        return {"x-hone-trace-id": self.trace_id}

    def record(self, end_ns: int) -> CallRecord:
        """The call as its trace tells it."""
        request, upstream, answer = self.request, self.upstream, self.answer
        return CallRecord(
            trace_id=self.trace_id,
            root_id=self.root_id,
            parent_span_id=self.parent_span_id,
            name=NAMES[self.kind],
            start_ns=self.start_ns,
            end_ns=max(end_ns, self.start_ns),
            model=upstream.model if upstream else (request.model or None) if request else None,
            parameters=request.parameters if request else {},
            input=request.input if request else self.raw_input,
            output=answer.output(self.kind),
            usage=answer.usage,
            timings=answer.timings,
            first_token_ns=answer.first_content_ns if request and request.stream else None,
            finish_reason=answer.finish_reason,
            error=self.error,
            aborted=self.aborted,
            connection=upstream.name if upstream else None,
            is_local=bool(upstream and upstream.is_local),
            reached_model=request is not None,
            prompt=(self.resolved.name, self.resolved.version) if self.resolved else None,
            assignment=self.resolved.assignment if self.resolved else None,
            annotations=self.annotations,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What the edge sends: a whole body, or a stream of it. Close it whatever happens."""

    status: int
    headers: dict[str, str]
    call: Call
    body: bytes = b""
    stream: AsyncIterator[bytes] | None = None

    async def close(self) -> None:
        """Stop what still runs; an answer that was not read to its end is traced as aborted."""
        await call_close(self.call)


def call_new(project_id: int, kind: str, body: object, headers: Mapping[str, str]) -> Call:
    """A call that begins now, in the client's own trace where it names one."""
    trace_id, parent = traceparent_parse(headers.get("traceparent")) or (trace_id_new(), None)
    fields = body if isinstance(body, dict) else {}
    return Call(
        project_id=project_id,
        kind=kind,
        trace_id=trace_id,
        root_id=span_id_new(),
        parent_span_id=parent,
        start_ns=clock.now_ns(),
        annotations=annotations_parse(headers, fields),
        raw_input=fields.get("messages") or fields.get("prompt"),
    )


def call_count(call: Call) -> None:
    """Count the call as open until `call_close`; raises GatewayError (503) when too many are."""
    global _num_open
    if _num_open >= settings.HONE_GATEWAY_MAX_CONCURRENT:
        text = "Too many calls are open; try again in a second"
        raise GatewayError(503, text, code="overloaded", retry_after_s=1)
    _num_open += 1
    call.counted = True


async def call_close(call: Call) -> None:
    """End the call: its connection, its count, and its trace where none is written yet."""
    global _num_open
    if call.counted:
        _num_open -= 1
        call.counted = False
        if not call.traced:
            call.aborted = call.error is None and call.answer.finish_reason is None
            _trace_later(call)
    if call.response is not None:
        await call.response.aclose()


async def call_trace(call: Call) -> None:
    """Write the call's spans; a client that hangs up meanwhile does not stop it."""
    await asyncio.shield(_trace_later(call))


def _trace_later(call: Call) -> asyncio.Task[None]:
    call.traced = True
    task = asyncio.create_task(_trace_write(call.project_id, call.record(clock.now_ns())))
    _running.add(task)
    task.add_done_callback(_running.discard)
    return task


async def _trace_write(project_id: int, record: CallRecord) -> None:
    try:
        spans = spans_of(record)
        await asyncio.wait_for(traces.spans_write(project_id, spans), TRACE_PATIENCE_S)
    except Exception as error:  # the answer is worth more than its trace
        log.exception("trace_not_written", trace_id=record.trace_id, error=str(error))


def num_open() -> int:
    """Calls that run in this process."""
    return _num_open


async def traces_written() -> None:
    """Wait for the traces of calls that are over, before the event loop ends."""
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(task for task in _running if task.get_loop() is loop))
