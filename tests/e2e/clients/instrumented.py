"""An application with one of the public OpenAI instrumentations, as its own users set it up.

    python instrumented.py openinference|openai-v2|traceloop BASE_URL KEY MODEL

Address and key of the traces' door come from OpenTelemetry's own variables. It calls the model
once whole and once streamed and prints the two trace ids and what the model said.
"""

import json
import sys

from openai import OpenAI
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

ASK = [
    {"role": "system", "content": "Answer in one sentence."},
    {"role": "user", "content": "What is the capital city of France?"},
]


def instrument(name: str) -> None:
    if name == "openinference":
        from openinference.instrumentation.openai import OpenAIInstrumentor  # noqa: PLC0415
    elif name == "openai-v2":
        from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor  # noqa: PLC0415
    else:
        from opentelemetry.instrumentation.openai import OpenAIInstrumentor  # noqa: PLC0415
    OpenAIInstrumentor().instrument()


def main(name: str, base_url: str, key: str, model: str) -> None:
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    instrument(name)
    tracer = trace.get_tracer("application")
    client = OpenAI(base_url=base_url, api_key=key, max_retries=0)
    said = {}
    with tracer.start_as_current_span("whole") as span:
        answer = client.chat.completions.create(
            model=model, messages=ASK, temperature=0, max_tokens=8
        )
        usage = answer.usage
        said["whole"] = {
            "trace_id": f"{span.get_span_context().trace_id:032x}",
            "text": answer.choices[0].message.content,
            "usage": [usage.prompt_tokens, usage.completion_tokens],
        }
    with tracer.start_as_current_span("streamed") as span:
        stream = client.chat.completions.create(
            model=model,
            messages=ASK,
            temperature=0,
            max_tokens=8,
            stream=True,
            stream_options={"include_usage": True},
        )
        text, usage = "", None
        for chunk in stream:
            usage = chunk.usage or usage
            text += "".join(choice.delta.content or "" for choice in chunk.choices)
        said["streamed"] = {
            "trace_id": f"{span.get_span_context().trace_id:032x}",
            "text": text,
            "usage": [usage.prompt_tokens, usage.completion_tokens],
        }
    provider.shutdown()
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
