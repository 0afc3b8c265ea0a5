"""One completion: find the prompt and the model, relay the answer, write the trace.

Whatever happens (an error, a client that hangs up, an engine that dies in the middle), the trace
is written, and a client that saw the end of its answer finds the trace in the database.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx
import orjson
import structlog

from hone.common import clock
from hone.common.database import database_call
from hone.common.errors import HoneError
from hone.gateway.core.errors import GatewayError, invalid
from hone.gateway.core.request import PARAMETERS, PATHS, CompletionRequest, request_parse
from hone.gateway.core.stream import (
    DONE,
    EventCutter,
    EventTooLongError,
    chunk_parse,
    error_message,
    event,
    is_usage_only,
)
from hone.gateway.services.calls import Call, Reply, call_close, call_count, call_new, call_trace
from hone.gateway.services.connections import (
    Upstream,
    model_missing,
    upstreams_for_async,
    upstreams_forget,
)
from hone.gateway.services.messages import messages_of
from hone.gateway.services.upstream import client_for
from hone.prompts.core.names import reference_parse
from hone.prompts.core.split import Subject
from hone.prompts.services import prompt_serve

log = structlog.get_logger(__name__)
PASSED_ON = (400, 404, 413, 422, 429, 503)  # of an upstream's statuses; others become 502
JSON_ONLY = {"content-type": "application/json", "accept-encoding": "identity"}


async def completion_open(
    project_id: int, kind: str, body: object, headers: Mapping[str, str]
) -> Reply:
    """Answer one call of a project; never raises for what the client or the model does wrong.

    `body` is the decoded JSON, `headers` have lower-case names. Cancel it, or close the reply's
    stream, when the client hangs up: the model server stops then too.
    """
    call = call_new(project_id, kind, body, headers)
    try:
        call_count(call)
        return await _opened(call, body)
    except (GatewayError, HoneError) as error:
        problem = error if isinstance(error, GatewayError) else _as_gateway_error(error)
        call.error = problem.message
        if call.counted:  # under too much load not even a trace is written
            await call_trace(call)
        headers = {"content-type": "application/json", **call.headers, **problem.headers()}
        return Reply(problem.status, headers, call, orjson.dumps(problem.body()))
    except BaseException as error:  # the client hung up, or the database is down
        if isinstance(error, Exception):
            call.error = f"{type(error).__name__}: {error}"
        await call_close(call)
        raise


async def _opened(call: Call, body: object) -> Reply:
    call.request = request_parse("chat" if call.kind == "chat" else "text", body)
    if call.request.prompt is not None:
        call.request = await _with_prompt(call, call.request, call.request.prompt)
    request = call.request
    upstreams = await upstreams_for_async(call.project_id, request.model)
    if not upstreams:
        raise await database_call(model_missing, call.project_id, request.model)
    call.response = response = await _send(call, request, upstreams)
    if request.stream and response.status_code == 200:
        headers = {"content-type": "text/event-stream", "cache-control": "no-store"}
        stream = _relay(call, request, response)
        return Reply(200, {**headers, **call.headers}, call, stream=stream)
    return await _whole(call, response)


async def _with_prompt(call: Call, request: CompletionRequest, reference: str) -> CompletionRequest:
    """The request with the stored prompt's messages before its own, and its configuration."""
    notes = call.annotations
    subject = Subject(user=notes.user_id or "", session=notes.session_id or "")
    served = await prompt_serve(call.project_id, reference_parse(reference))
    call.resolved = resolved = served.resolved(subject)
    rendered = resolved.render(request.variables)
    if rendered.missing:
        names = ", ".join(rendered.missing)
        raise invalid(f"variables: the prompt {reference} needs {names}", "variables")
    messages = messages_of(rendered.content) + list(request.body.get("messages") or ())
    defaults = {name: value for name, value in resolved.config.items() if name in PARAMETERS}
    model = request.model or str(resolved.config.get("model") or "")
    if not model:
        raise invalid("model: neither the request nor the prompt names one", "model")
    body = {**defaults, **request.body, "model": model, "messages": messages}
    return replace(request, model=model, body=body)


async def _send(
    call: Call, request: CompletionRequest, upstreams: list[Upstream]
) -> httpx.Response:
    """The response of the first upstream that can be reached, its body not yet read."""
    problem: Exception | None = None
    for upstream in upstreams:
        call.upstream = upstream
        client = client_for(upstream.is_local)
        url = upstream.base_url + PATHS[request.kind]
        content = orjson.dumps(_body_for(upstream, request))
        headers = {**JSON_ONLY, **upstream.headers}
        try:
            built = client.build_request("POST", url, content=content, headers=headers)
            return await client.send(built, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            upstreams_forget()
            problem = error  # nothing was sent: the next one may be asked
        except httpx.HTTPError as error:
            raise _unreached(upstream, error) from error
    assert problem is not None
    raise _unreached(upstreams[-1], problem) from problem


def _body_for(upstream: Upstream, request: CompletionRequest) -> dict[str, Any]:
    body = {**request.body, "model": upstream.model}
    if upstream.is_local:  # what only the trace reads
        for name in ("metadata", "user", "store"):
            body.pop(name, None)
    if request.stream:
        options = body.get("stream_options")
        body["stream_options"] = {
            **(options if isinstance(options, dict) else {}),
            "include_usage": True,
        }
    return body


def _unreached(upstream: Upstream, error: Exception) -> GatewayError:
    text = str(error) or type(error).__name__
    if upstream.is_local:
        return GatewayError(
            503,
            f"The engine does not answer at present ({text})",
            code="engine_unavailable",
            retry_after_s=2,
        )
    return GatewayError(
        502, f"The connection {upstream.name} failed: {text}", code="upstream_failed"
    )


async def _whole(call: Call, response: httpx.Response) -> Reply:
    upstream = call.upstream
    assert upstream is not None
    try:
        content = await response.aread()
    except httpx.HTTPError as error:
        raise _unreached(upstream, error) from error
    finally:
        await response.aclose()
    if response.status_code != 200:
        raise _refused(upstream, response, content)
    body = chunk_parse(content)
    if body is None:
        raise GatewayError(502, f"{upstream.name} answered with no JSON", code="upstream_failed")
    call.answer.add(body, clock.now_ns())
    call.answer.complete = True
    await call_trace(call)
    return Reply(200, {"content-type": "application/json", **call.headers}, call, content)


def _refused(upstream: Upstream, response: httpx.Response, content: bytes) -> GatewayError:
    """An upstream's error answer as ours; its status when that tells the client what to do."""
    status, value = response.status_code, chunk_parse(content) or {}
    told = value.get("error")
    details = told if isinstance(told, dict) else {}
    message = error_message(content)
    if status not in PASSED_ON:
        message = f"The connection {upstream.name} answered {status}: {message}"
        return GatewayError(502, message, code="upstream_failed")
    after = response.headers.get("retry-after", "")
    retry = int(after) if after.isdigit() else 1
    return GatewayError(
        status,
        message,
        param=details.get("param"),
        code=details.get("code"),
        kind=details.get("type"),
        retry_after_s=retry if status in (429, 503) else None,
    )


async def _relay(
    call: Call, request: CompletionRequest, response: httpx.Response
) -> AsyncIterator[bytes]:
    """The events of an answer as they come; the last one only after the trace is written."""
    answer = call.answer
    async with aclosing(_events(call, response)) as events:
        async for data in events:
            chunk = chunk_parse(data)
            if chunk is not None:
                answer.add(chunk, clock.now_ns())
                if is_usage_only(chunk) and not request.include_usage:
                    continue
            yield event(data)
    if answer.error is None and not answer.complete:
        answer.error = "The answer broke off: the model server closed the connection"
        yield event(orjson.dumps(GatewayError(502, answer.error, code="stream_cut").body()))
    call.error = answer.error
    await call_trace(call)
    if call.error is None:
        yield event(DONE)


async def _events(call: Call, response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """The `data` of each event before [DONE]; a broken connection ends it."""
    cutter = EventCutter()
    try:
        async for data in response.aiter_bytes():
            for found in cutter.push(data):
                if found == DONE:
                    call.answer.complete = True
                    return
                yield found
    except (httpx.HTTPError, EventTooLongError) as error:
        log.warning("stream_cut", trace_id=call.trace_id, error=str(error) or type(error).__name__)
    finally:
        await response.aclose()


def _as_gateway_error(error: HoneError) -> GatewayError:
    return GatewayError(
        error.status,
        error.message,
        param=error.field,
        code=error.code,
        retry_after_s=error.retry_after_s,
    )
