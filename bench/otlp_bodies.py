"""Made-up traces as OTLP exports: the load of bench/ingest.py.

Each trace has four spans in the OpenInference dialect: an agent, a retriever and two generations;
about 2.3 KB a span in protobuf.
"""

import random
import time
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans

MODELS = ("gpt-4o", "gpt-4o-mini", "claude-sonnet", "gemini-pro")
SYLLABLES = ("ka", "lo", "mi", "nu", "pe", "ra", "so", "ti", "vu", "ze", "an", "el", "in", "or")


class Words:
    """Made-up prose that compresses about as prose does."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        sizes = (1, 2, 2, 3, 4)
        spell = random.Random(7)
        self.known = ["".join(spell.choices(SYLLABLES, k=spell.choice(sizes))) for _ in range(2500)]

    def text(self, length: int) -> str:
        """About `length` characters."""
        picked = (self.known[int(2500 * self.random.random() ** 2)] for _ in range(length))
        out: list[str] = []
        size = 0
        for word in picked:
            out.append(word)
            size += len(word) + 1
            if size >= length:
                break
        return " ".join(out)[:length]


def add_span(scope: ScopeSpans, ids: tuple[bytes, bytes, bytes], name: str, start_ns: int,
             length_ns: int, attributes: dict[str, Any]) -> None:  # fmt: skip
    trace_id, span_id, parent = ids
    span = scope.spans.add(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=parent,
        name=name,
        start_time_unix_nano=start_ns,
        end_time_unix_nano=start_ns + length_ns,
    )
    for key, value in attributes.items():
        pair = span.attributes.add(key=key)
        if isinstance(value, int):
            pair.value.int_value = value
        else:
            pair.value.string_value = value


def add_trace(scope: ScopeSpans, words: Words, start_ns: int) -> None:
    """Four spans in the OpenInference dialect."""
    random_bytes = words.random.randbytes
    trace_id, spans = random_bytes(16), [random_bytes(8) for _ in range(4)]
    question, who = words.text(120), {"session.id": f"s{words.random.randrange(900)}",
                                      "user.id": f"u{words.random.randrange(400)}"}  # fmt: skip
    second = 10**9
    add_span(scope, (trace_id, spans[1], spans[0]), "retrieve", start_ns + 10**6, second // 20, {
        "openinference.span.kind": "RETRIEVER",
        "input.value": question,
        **{f"retrieval.documents.{n}.document.content": words.text(200) for n in range(3)},
        **{f"retrieval.documents.{n}.document.id": f"doc-{n}" for n in range(3)},
    })  # fmt: skip
    answer = ""
    for number in (2, 3):
        model, system = words.random.choice(MODELS), "Answer briefly. " + words.text(230)
        prompt, answer = f"{question} {words.text(660)}", words.text(500)
        begin = start_ns + number * second
        add_span(scope, (trace_id, spans[number], spans[0]), f"chat {model}", begin, second, {
            "openinference.span.kind": "LLM",
            "llm.model_name": model,
            "llm.invocation_parameters": '{"temperature": 0.2, "max_tokens": 512}',
            "llm.input_messages.0.message.role": "system",
            "llm.input_messages.0.message.content": system,
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.content": prompt,
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": answer,
            "llm.token_count.prompt": 300,
            "llm.token_count.completion": 120,
            "llm.token_count.total": 420,
            "input.value": prompt,
            "output.value": answer,
            **who,
        })  # fmt: skip
    add_span(scope, (trace_id, spans[0], b""), "support agent", start_ns, 5 * second, {
        "openinference.span.kind": "AGENT", "input.value": question, "output.value": answer,
        "metadata": '{"tenant": 4}', **who,
    })  # fmt: skip


def bodies_of(traces: int, batch: int, seed: int, days: float) -> list[bytes]:
    """Serialized exports of `batch` spans, starts spread over the last `days`."""
    words, now_ns, bodies = Words(seed), time.time_ns(), []
    per_body = batch // 4
    for first in range(0, traces, per_body):
        request = ExportTraceServiceRequest()
        of_resource = request.resource_spans.add()
        of_resource.resource.attributes.add(key="service.name").value.string_value = "bench"
        scope = of_resource.scope_spans.add()
        for number in range(first, min(first + per_body, traces)):
            age_ns = int(days * 86_400e9 * (1 - number / traces)) + 10 * 10**9
            add_trace(scope, words, now_ns - age_ns)
        bodies.append(request.SerializeToString())
    return bodies
