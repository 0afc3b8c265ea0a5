"""Drives Langfuse's Python SDK 3, 4 or 5 as an application does; prints what it read, as JSON.

python python_3_to_5.py NAME     NAME keeps what it makes apart from others' in the project
"""

import contextlib
import json
import sys
from typing import Any

from langfuse import Evaluation, Langfuse, get_client, observe, propagate_attributes
from langfuse.media import LangfuseMedia

PNG = b"\x89PNG\r\n\x1a\n" + b"hone"


def tracing(name: str, prompt: Any) -> dict[str, Any]:
    """A decorated call with a tool, an error and a generation; scores of all of it."""

    @observe(as_type="tool")
    def search(query: str) -> list[str]:
        return ["doc1", "doc2"]

    @observe(as_type="generation")
    def answer(docs: list[str]) -> str:
        get_client().update_current_generation(
            model="gpt-4o-mini",
            usage_details={"input": 11, "output": 3},
            metadata={"n": 3, "word": "v", "deep": {"a": [1]}},
            prompt=prompt,
        )
        return "42"

    @observe()
    def broken() -> None:
        raise ValueError("boom")

    @observe(name="root")
    def root(question: str) -> str:
        client = get_client()
        with propagate_attributes(
            trace_name=f"{name}-trace",
            user_id=f"{name}-user",
            session_id=f"{name}-session",
            tags=["a", "b"],
            metadata={"tier": "gold"},
            version="9",
        ):
            found = answer(search(question))
            with contextlib.suppress(ValueError):
                broken()
            client.score_current_span(name="relevance", value=0.9, comment="good")
            client.score_current_trace(name="helpful", value=True, data_type="BOOLEAN")
            seen.update(trace_id=client.get_current_trace_id(), url=client.get_trace_url())
            seen["media"] = LangfuseMedia(content_bytes=PNG, content_type="image/png")
            client.update_current_span(metadata={"picture": seen.pop("media")})
            return found

    seen: dict[str, Any] = {}
    seen["result"] = root("what is 6*7")
    client = get_client()
    client.create_score(
        name="tone", value="calm", data_type="CATEGORICAL", trace_id=seen["trace_id"]
    )
    client.flush()
    return seen


def manual(name: str) -> dict[str, Any]:
    """Observations of every type, made by hand, below a trace id from a seed."""
    client = get_client()
    trace_id = client.create_trace_id(seed=name)
    kinds = ["span", "agent", "tool", "chain", "retriever", "evaluator", "guardrail"]
    with client.start_as_current_observation(
        name=f"{name}-manual", trace_context={"trace_id": trace_id}, input={"x": 1}
    ) as root:
        for kind in kinds:
            root.start_observation(name=f"a {kind}", as_type=kind).end()
        root.start_observation(
            name="a generation", as_type="generation", model="m", usage_details={"input": 1}
        ).end()
        root.create_event(name="an event", input="e")
        root.update(output="manual out", level="WARNING", status_message="careful")
    client.flush()
    return {"trace_id": trace_id, "types": [*kinds, "generation", "event"]}


def prompts(name: str) -> tuple[Any, dict[str, Any]]:
    """Prompts created, labeled, read in every way; a fallback where there is none."""
    client = get_client()
    text = f"{name}/movie critic"
    client.create_prompt(
        name=text,
        prompt="Rate {{movie}}.",
        labels=["production"],
        config={"temperature": 0.2},
        tags=["t"],
        commit_message="first",
    )
    client.create_prompt(name=text, prompt="Rate v2 {{movie}}.", labels=["staging"])
    messages = [
        {"role": "system", "content": "You are {{who}}"},
        {"type": "placeholder", "name": "history"},
        {"role": "user", "content": "{{q}}"},
    ]
    client.create_prompt(name=f"{name}/chat", type="chat", prompt=messages, labels=["production"])
    client.update_prompt(name=text, version=2, new_labels=["prod-b"])
    served = client.get_prompt(text)
    chat = client.get_prompt(f"{name}/chat", type="chat")
    fallback = client.get_prompt(f"{name}/nope", fallback="local {{x}}", max_retries=0)
    return served, {
        "served": [served.version, served.compile(movie="Dune"), served.config, served.tags],
        "staging": client.get_prompt(text, label="staging").prompt,
        "version": client.get_prompt(text, version=1).prompt,
        "latest": client.get_prompt(text, label="latest").labels,
        "chat": chat.compile(who="a clerk", q="?", history=[{"role": "user", "content": "hi"}]),
        "fallback": [fallback.is_fallback, fallback.compile(x="y")],
    }


def reads(name: str, trace_id: str) -> dict[str, Any]:
    """The trace of `tracing` through the SDK's own typed API, as far as its generation has it."""
    api = get_client().api
    older = getattr(api, "legacy", None)
    if hasattr(api, "observations_v_2"):
        observations, scores, metrics = api.observations_v_2, api.score_v_2.get, api.metrics_v_2
    else:
        observations, scores, metrics = api.observations, api.scores.get_many, api.metrics
    page = observations.get_many(trace_id=trace_id, fields="core,basic,io,usage,model", limit=2)
    rest = observations.get_many(trace_id=trace_id, limit=2, cursor=page.meta.cursor)
    question = {
        "view": "observations",
        "dimensions": [{"field": "type"}],
        "metrics": [{"measure": "totalTokens", "aggregation": "sum"}],
        "filters": [
            {"type": "string", "column": "traceName", "operator": "=", "value": f"{name}-trace"}
        ],
        "fromTimestamp": "2020-01-01T00:00:00Z",
        "toTimestamp": "2099-01-01T00:00:00Z",
    }
    seen: dict[str, Any] = {
        "pages": [len(page.data), len(rest.data)],
        "scores": sorted(score.name for score in scores(trace_id=trace_id).data),
        "tokens": {
            row["type"]: row["sum_totalTokens"]
            for row in metrics.metrics(query=json.dumps(question)).data
        },
        "prompts": [meta.name for meta in api.prompts.list(name=f"{name}/chat").data],
        "models": len(api.models.list().data),
        "health": api.health.health().status,
    }
    if hasattr(api.trace, "get"):
        trace = api.trace.get(trace_id)
        seen["trace"] = [trace.name, trace.user_id, len(trace.observations), len(trace.scores)]
        seen["listed"] = [t.name for t in api.trace.list(user_id=f"{name}-user").data]
        session = api.sessions.get(f"{name}-session")
        seen["session"] = [session.id, len(session.traces)]
        v1 = older.observations_v1 if older else api.observations
        found = v1.get_many(trace_id=trace_id, type="GENERATION").data
        seen["v1"] = [[o.name, o.usage.total, v1.get(o.id).model] for o in found]
    return seen


def picture(trace_id: str) -> str:
    """The image of `tracing` as the SDK brings it back, a data URI."""
    client = get_client()
    api = client.api
    observations = api.observations_v_2 if hasattr(api, "observations_v_2") else api.observations
    found = observations.get_many(trace_id=trace_id, fields="metadata", expand_metadata="picture")
    # Of version 3 these rows have no type.
    kept = [o["metadata"] if isinstance(o, dict) else o.metadata for o in found.data]
    [kept] = [metadata for metadata in kept if metadata and "picture" in metadata]
    return str(client.resolve_media_references(obj=kept, resolve_with="base64_data_uri")["picture"])


def deletion(trace_id: str) -> str:
    """A trace deleted through the SDK's own API."""
    return str(get_client().api.trace.delete(trace_id).message)


def experiment(name: str) -> dict[str, Any]:
    """A dataset, and an experiment over it with a score for each item."""
    client = get_client()
    dataset = f"{name} set"
    client.create_dataset(name=dataset, description="d", metadata={"k": 1})
    for question, answer in (("a", "A"), ("b", "B")):
        client.create_dataset_item(
            dataset_name=dataset, input={"q": question}, expected_output={"a": answer}
        )
    found = client.get_dataset(dataset)

    def right(*, input: Any, output: Any, expected_output: Any, **_: Any) -> Evaluation:
        return Evaluation(name="right", value=float(output == expected_output["a"]))

    result = client.run_experiment(
        name=f"{name} experiment",
        run_name=f"{name} run",
        data=found.items,
        task=lambda *, item, **_: item.input["q"].upper(),
        evaluators=[right],
    )
    client.flush()
    return {
        "items": len(found.items),
        "outputs": sorted(str(item.output) for item in result.item_results),
        "scores": [e.value for item in result.item_results for e in item.evaluations],
        "traces": [item.trace_id for item in result.item_results],
        "run": getattr(result, "dataset_run_id", None) or getattr(result, "experiment_id", None),
    }


def main() -> None:
    name = sys.argv[1]
    client = Langfuse(environment="staging", release="v1.2.3", timeout=30)
    said: dict[str, Any] = {"auth": client.auth_check()}
    prompt, said["prompts"] = prompts(name)
    said["tracing"] = tracing(name, prompt)
    said["manual"] = manual(name)
    said["reads"] = reads(name, said["tracing"]["trace_id"])
    said["picture"] = picture(said["tracing"]["trace_id"])
    said["experiment"] = experiment(name)
    said["deletion"] = deletion(said["experiment"]["traces"][0])
    client.shutdown()
    sys.stdout.write(f"{json.dumps(said)}\n")


main()
