"""Drives Langfuse's Python SDK 2, which sends batches of events; prints what it read, as JSON."""

import json
import sys
from typing import Any

from langfuse import Langfuse
from langfuse.decorators import langfuse_context, observe


def tracing(client: Langfuse, name: str) -> dict[str, Any]:
    trace = client.trace(
        name=f"{name}-trace",
        user_id=f"{name}-user",
        session_id=f"{name}-session",
        tags=["a", "b"],
        metadata={"k": 1},
        input="in",
        public=True,
    )
    span = trace.span(name="sp", input={"a": 1})
    generation = span.generation(
        name="g", model="gpt-4o-mini", input=[{"role": "user", "content": "x"}]
    )
    generation.update(output="o")
    generation.end(usage={"input": 11, "output": 3, "unit": "TOKENS"})
    span.event(name="e", level="WARNING")
    span.end(output="done", level="ERROR", status_message="bad")
    trace.update(output="out")
    trace.score(name="helpful", value=1, data_type="BOOLEAN")
    generation.score(name="tone", value="calm")
    client.flush()
    return {"trace_id": trace.id, "generation_id": generation.id, "span_id": span.id}


def decorated(name: str) -> dict[str, Any]:
    @observe(as_type="generation")
    def llm(text: str) -> str:
        langfuse_context.update_current_observation(model="m", usage={"input": 1, "output": 2})
        return "a"

    @observe(name=f"{name}-decorated")
    def root(text: str) -> str:
        seen["trace_id"] = langfuse_context.get_current_trace_id()
        langfuse_context.update_current_trace(user_id=f"{name}-user")
        return llm(text)

    seen: dict[str, Any] = {}
    root("q")
    langfuse_context.flush()
    return seen


def prompts(client: Langfuse, name: str) -> dict[str, Any]:
    client.create_prompt(
        name=f"{name}/p", prompt="Hi {{x}}", labels=["production"], config={"a": 1}
    )
    found = client.get_prompt(f"{name}/p")
    # With 0 this generation tries for ever.
    fallback = client.get_prompt(f"{name}/nope", fallback="local", max_retries=1)
    return {
        "served": [found.version, found.compile(x="you"), found.config],
        "fallback": [fallback.is_fallback, fallback.prompt],
    }


def reads(client: Langfuse, seen: dict[str, Any], name: str) -> dict[str, Any]:
    trace = client.fetch_trace(seen["trace_id"]).data
    traces = client.fetch_traces(user_id=f"{name}-user").data
    observations = client.fetch_observations(trace_id=seen["trace_id"]).data
    generation = client.fetch_observation(seen["generation_id"]).data
    return {
        "trace": [trace.id, trace.name, trace.input, trace.output, trace.tags, trace.public],
        "parents": {o.name: o.parent_observation_id for o in trace.observations},
        "scores": sorted((s.name, s.value) for s in trace.scores),
        "traces": sorted(t.name for t in traces),
        "observations": sorted(o.name for o in observations),
        "generation": [generation.model, generation.output, generation.usage.total],
        "cost": generation.calculated_total_cost,
        "sessions": [s.id for s in client.fetch_sessions().data],
    }


def dataset(client: Langfuse, name: str) -> dict[str, Any]:
    client.create_dataset(name=f"{name} set")
    client.create_dataset_item(dataset_name=f"{name} set", input={"q": 1}, expected_output=2)
    found = client.get_dataset(f"{name} set")
    for item in found.items:
        with item.observe(run_name=f"{name} run") as trace_id:
            client.score(trace_id=trace_id, name="right", value=1)
    client.flush()
    return {"items": [[item.input, item.expected_output] for item in found.items]}


def main() -> None:
    name = sys.argv[1]
    client = Langfuse(environment="staging", release="v1.2.3", timeout=30)
    said: dict[str, Any] = {"auth": client.auth_check()}
    said["prompts"] = prompts(client, name)
    said["tracing"] = tracing(client, name)
    said["decorated"] = decorated(name)
    said["reads"] = reads(client, said["tracing"], name)
    said["dataset"] = dataset(client, name)
    sys.stdout.write(f"{json.dumps(said)}\n")


main()
