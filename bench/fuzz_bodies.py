"""Bodies to begin with and ways to damage them, for bench/fuzz_otlp.py and its test.

Whatever chooses is a `random.Random`, so that a seed names a body.
"""

import json
import random
import struct
from collections.abc import Callable
from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from otlp_bodies import bodies_of

from hone.traces.core.dialects import keys
from hone.traces.core.legacy.fold import FIELDS

START_NS: Final = 1_796_000_000 * 10**9
KNOWN: Final = sorted(
    {
        *(name for names in vars(keys).values() if isinstance(names, tuple) for name in names),
        *(key for names in (*keys.TOKENS.values(), *keys.COSTS.values()) for key in names),
        *("gen_ai.request.temperature", "langfuse.observation.usage_details", "error.type"),
        *("langfuse.observation.cost_details", "langfuse.observation.level", "langfuse.release"),
        *("llm.input_messages.0.message.content", "llm.output_messages.1.message.role"),
        *(keys.LISTED_EVENTS, keys.LEVEL_NUMBER, keys.PROMPT_LINK, "mlflow.chat.tokenUsage"),
        *("gen_ai.prompt.10001.content", "gen_ai.completion.0.__proto__", "__proto__", ""),
        *("langfuse.observation.metadata.k", "langfuse.trace.metadata.k", "gen_ai.operation.name"),
    }
)
TEXTS: Final = (
    *("", "\x00", "é😀", "x" * 600, "[1,2", "{}", '"quoted"', "null", "NaN", "inf", "-1", "1e999"),
    *('{"input": 10, "output": 5, "total": 15, "input_cached_tokens": 4}', '["b", "a", "b"]'),
    '{"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}',
    *('{"__proto__": {"a": 1}}', '{"a": 1, "a": 2}', '"\\ud800"', '[{"role": "user"}]', "a,b, a"),
    *("generation", "LLM", "chat", "ai.generateText.doGenerate", "ERROR", "warn", "Langfuse Prod!"),
    *("ai.generateText", "invoke_agent", "log", '{"name": "p", "version": 2}'),
    *("gpt-4o", "claude-sonnet-4-5", "2026-11-30T12:59:31.213635Z", '"2026-11-30T12:59:31Z"'),
)
# Attributes that hold JSON, of spans that the extension takes where nothing else is in them.
JSON_KEYS: Final = (
    *("langfuse.observation.metadata.k", "langfuse.trace.metadata.k", "metadata"),
    *("langfuse.observation.model.parameters", "langfuse.observation.usage_details"),
    "llm.invocation_parameters",
)
INSTANTS: Final = (0, 1, START_NS, START_NS + 7, 2**63, 2**64 - 1)
NUMBERS: Final = (0, 1, -1, 2**31, 2**40, 2**53 + 1, 2**63 - 1, -(2**63))
REALS: Final = (0.0, -0.0, 0.1, 5e-324, 1e300, 1e16, float("nan"), float("inf"), float("-inf"))


def exports() -> list[bytes]:
    """Exports in protobuf: the benchmark's, and one of each kind of value."""
    made = bodies_of(4, 8, 1, 7.0)
    rng = random.Random(3)
    for _ in range(40):
        request = ExportTraceServiceRequest()
        of_resource = request.resource_spans.add()
        language = of_resource.resource.attributes.add(key="telemetry.sdk.language")
        language.value.string_value = rng.choice(("python", "nodejs"))
        scope = of_resource.scope_spans.add()
        scope.scope.name, scope.scope.version = "langfuse-sdk", "5.0.4"
        for number in range(rng.randrange(1, 4)):
            span = scope.spans.add(trace_id=b"t" * 16, span_id=struct.pack(">Q", number + 1))
            span.start_time_unix_nano = START_NS
            for _ in range(rng.randrange(8)):
                put(span.attributes.add(key=rng.choice(KNOWN)).value, rng)
        made.append(request.SerializeToString())
        for span in scope.spans:
            of_json(span, rng)
        made.append(request.SerializeToString())
    return made


def put(value: AnyValue, rng: random.Random, depth: int = 0) -> None:
    """Some value."""
    match rng.randrange(8 if depth < 3 else 5):
        case 0 | 1:
            value.string_value = rng.choice((rng.choice(TEXTS), json_said(rng)))
        case 2:
            value.int_value = rng.choice(NUMBERS)
        case 3:
            value.double_value = rng.choice(REALS)
        case 4:
            value.bool_value = rng.random() < 0.5
        case 5:
            value.bytes_value = rng.randbytes(3)
        case 6:
            value.array_value.SetInParent()
            for _ in range(rng.randrange(3)):
                put(value.array_value.values.add(), rng, depth + 1)
        case 7:
            value.kvlist_value.SetInParent()
            for _ in range(rng.randrange(3)):
                put(value.kvlist_value.values.add(key=rng.choice(KNOWN)).value, rng, depth + 1)


def of_json(span: Any, rng: random.Random) -> None:
    """Nothing but JSON in the attributes of `span`."""
    del span.attributes[:]
    for key in rng.sample(JSON_KEYS, rng.randrange(1, 3)):
        span.attributes.add(key=key).value.string_value = json_said(rng)


def json_said(rng: random.Random) -> str:
    """Some JSON, spelled in one of the ways that are allowed, or nearly JSON."""
    spelled = json.dumps(_tree(rng), ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1)))
    if rng.random() < 0.3:
        return bytes_changed(spelled.encode(), rng).decode("utf-8", "replace")
    return spelled


def _tree(rng: random.Random, depth: int = 0) -> Any:
    match rng.randrange(6 if depth < 4 else 4):
        case 0:
            return rng.choice((*NUMBERS, *REALS[:6], 1.5e-7, -12.25, 10**25))
        case 1:
            return rng.choice((*TEXTS, "\t\n\b\f\r/\\", "\x7f\u2028", "𝄞"))
        case 2 | 3:
            return rng.choice((None, True, False, "a", 7))
        case 4:
            return [_tree(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(KNOWN): _tree(rng, depth + 1) for _ in range(rng.randrange(4))}


def export_changed(body: bytes, rng: random.Random) -> bytes:
    """A protobuf export with one thing of it changed; bytes that are none, with a byte changed."""
    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
    except DecodeError:
        return bytes_changed(body, rng)
    if rng.random() < 0.1:
        return bytes_changed(body, rng)
    scopes = [scope for found in request.resource_spans for scope in found.scope_spans]
    if not scopes:
        scopes = [request.resource_spans.add().scope_spans.add()]
    _scope_changed(rng.choice(scopes), request, rng)
    return request.SerializeToString()


def _scope_changed(scope: Any, request: ExportTraceServiceRequest, rng: random.Random) -> None:
    if not scope.spans or rng.random() < 0.05:
        span = scope.spans.add(trace_id=b"t" * 16, span_id=rng.randbytes(8))
        span.start_time_unix_nano = START_NS
    span, resource = rng.choice(scope.spans), request.resource_spans[0].resource
    changes: list[Callable[[], Any]] = [
        lambda: put(span.attributes.add(key=rng.choice(KNOWN)).value, rng),
        lambda: put(span.attributes.add(key=rng.choice(KNOWN)).value, rng),
        lambda: of_json(span, rng),
        lambda: of_json(span, rng),
        lambda: span.attributes and put(rng.choice(span.attributes).value, rng),
        lambda: span.attributes and span.attributes.pop(rng.randrange(len(span.attributes))),
        lambda: setattr(span, "start_time_unix_nano", rng.choice(INSTANTS)),
        lambda: setattr(span, "end_time_unix_nano", rng.choice(INSTANTS)),
        lambda: setattr(span, "parent_span_id", rng.choice((b"", bytes(8), b"p" * 8, b"p" * 9))),
        lambda: setattr(span, "span_id", rng.choice((b"", bytes(8), b"s" * 8, b"s" * 7))),
        lambda: setattr(span, "name", rng.choice(TEXTS)),
        lambda: setattr(span, "kind", rng.randrange(7)),
        lambda: setattr(span.status, "code", rng.randrange(4)),
        lambda: setattr(span.status, "message", rng.choice(TEXTS)),
        lambda: _event_added(span, rng),
        lambda: put(span.links.add(trace_id=b"l" * 16).attributes.add(key="k").value, rng),
        lambda: put(resource.attributes.add(key=rng.choice(KNOWN)).value, rng),
        lambda: setattr(scope.scope, "name", rng.choice(("langfuse-sdk", "ai", "\x00"))),
        lambda: setattr(scope.scope, "version", rng.choice(("5.0.4", "4", "x", ""))),
    ]
    rng.choice(changes)()


def _event_added(span: Any, rng: random.Random) -> None:
    names = ("exception", "gen_ai.choice", "gen_ai.user.message", "First Token Stream Event", "e")
    event = span.events.add(name=rng.choice(names), time_unix_nano=rng.choice(INSTANTS))
    put(
        event.attributes.add(key=rng.choice(("exception.message", "content", "role", ""))).value,
        rng,
    )


def bytes_changed(body: bytes, rng: random.Random) -> bytes:
    """`body` with some bytes overwritten, taken out, doubled or cut off."""
    changed = bytearray(body or b"\n")
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(4):
            case 0:
                changed[at : at + 1] = rng.randbytes(1)
            case 1:
                del changed[at : at + rng.randrange(1, 9)]
            case 2:
                changed[at:at] = changed[at : at + rng.randrange(1, 9)]
            case 3:
                changed[at:at] = rng.choice(
                    (b"\xff" * 9, b"\x00", b"\x7f", b"\x80\x80\x80\x80\x01")
                )
    return bytes(changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.1 else changed)


def json_exports() -> list[bytes]:
    """Exports in OTLP/JSON."""
    pairs = zip(KNOWN, TEXTS, strict=False)
    attributes = [{"key": key, "value": {"stringValue": text}} for key, text in pairs]
    value = {"arrayValue": {"values": [{"intValue": "7"}, {"doubleValue": "NaN"}, {}]}}
    span = {
        **{"traceId": "ab" * 16, "spanId": "cd" * 8, "parentSpanId": "", "name": "n", "kind": 1},
        **{"startTimeUnixNano": str(START_NS), "endTimeUnixNano": START_NS + 5},
        "attributes": [*attributes, {"key": "own", "value": value}],
        "events": [{"name": "e", "timeUnixNano": "5", "attributes": attributes[:2]}],
        "links": [{"traceId": "ab" * 16, "spanId": "cd" * 8, "attributes": []}],
        "status": {"code": "STATUS_CODE_ERROR", "message": "m"},
    }
    scope = {"scope": {"name": "langfuse-sdk", "version": "5.0.4"}, "spans": [span]}
    whole = {"resourceSpans": [{"resource": {"attributes": attributes[:3]}, "scopeSpans": [scope]}]}
    return [json.dumps(whole).encode(), b"{}"]


def event_batches() -> list[bytes]:
    """Batches of events of the older protocol."""
    moment = "2026-11-30T12:00:0{}.5Z"
    rng = random.Random(5)
    kinds = ("trace-create", "span-create", "span-update", "generation-create", "generation-update")
    made = []
    for _ in range(10):
        events = []
        for number in range(4):
            fields = rng.choice((FIELDS[True], FIELDS[False]))
            body = {name: rng.choice(TEXTS) for name in rng.sample(fields, 5)}
            body |= {"id": rng.choice(("a", "b")), "metadata": {"k": {"n": number}}, "tags": ["t"]}
            at = {"id": str(number), "timestamp": moment.format(number)}
            events.append({**at, "type": rng.choice(kinds), "body": body})
        made.append(json.dumps(events).encode())
    return made


def json_changed(body: bytes, rng: random.Random) -> bytes:
    """JSON with one of its values replaced, moved or taken out; else with bytes changed."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return bytes_changed(body, rng)
    places = list(_places(value)) if isinstance(value, dict | list) else []
    if not places or rng.random() < 0.1:
        return bytes_changed(body, rng)
    holder, key = rng.choice(places)
    match rng.randrange(5):
        case 0:
            holder[key] = rng.choice((*TEXTS, *NUMBERS, *REALS, None, True, [], {}, "\ud800"))
        case 1:
            other, from_key = rng.choice(places)
            holder[key] = json.loads(json.dumps(other[from_key]))
        case 2 if isinstance(holder, dict):
            holder[rng.choice(KNOWN)] = holder[key]
        case 3 if isinstance(holder, list):
            holder.append(json.loads(json.dumps(holder[key])))
        case _:
            del holder[key]
    return json.dumps(value).encode()


def _places(value: Any) -> Any:
    """Each container with each of its keys or indices."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)
