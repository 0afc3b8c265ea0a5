"""Prompts by name and scores by trace, through the API that Langfuse clients use."""

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import hone.sdk as hone
from hone.sdk.prompts.fetch import prompts_forget

PATH = "/api/public/v2/prompts/shop%2Freply"


def body(version: int, text: Any = "Hello {{name}}, {{ missing }}") -> dict[str, Any]:
    return {
        "name": "shop/reply",
        "version": version,
        "type": "text",
        "prompt": text,
        "config": {"temperature": 0.5},
        "labels": ["production"],
        "tags": [],
    }


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    prompts_forget()
    yield
    prompts_forget()


def test_a_prompt_is_fetched_once_filled_in_and_linked(sent: Any) -> None:
    sent.prompts[f"{PATH}?label=production"] = (200, body(3))
    prompt = hone.get_prompt("shop/reply")
    assert hone.get_prompt("shop/reply") is prompt
    assert len(sent.requests) == 1
    assert (prompt.version, prompt.labels, prompt.config["temperature"]) == (
        3,
        ("production",),
        0.5,
    )
    assert prompt.compile(name="Bo") == "Hello Bo, {{ missing }}"
    with hone.generation("answer", prompt=prompt):
        pass
    span = sent.named("answer")
    assert (span.said("prompt.name"), span.said("prompt.version")) == ("shop/reply", 3)


def test_version_and_label_are_different_prompts(sent: Any) -> None:
    sent.prompts[f"{PATH}?version=2"] = (200, body(2))
    sent.prompts[f"{PATH}?label=staging"] = (200, body(5))
    assert hone.get_prompt("shop/reply", version=2).version == 2
    assert hone.get_prompt("shop/reply", label="staging").version == 5


def test_chat_messages_are_filled_in_with_placeholders(sent: Any) -> None:
    template = [
        {"role": "system", "content": "You sell {{what}}"},
        {"type": "placeholder", "name": "history"},
        {"role": "user", "content": "{{question}}"},
    ]
    sent.prompts[f"{PATH}?label=production"] = (200, body(1, template))
    prompt = hone.get_prompt("shop/reply")
    assert prompt.is_chat
    history = [{"role": "user", "content": "{{what}}"}]
    assert prompt.compile(what="bikes", history=history, question={"a": 1}) == [
        {"role": "system", "content": "You sell bikes"},
        {"role": "user", "content": "{{what}}"},
        {"role": "user", "content": '{"a": 1}'},
    ]


def test_an_old_prompt_is_given_at_once_while_the_new_one_comes(
    sent: Any, wait_for: Callable[..., Any]
) -> None:
    sent.prompts[f"{PATH}?label=production"] = (200, body(1))
    assert hone.get_prompt("shop/reply", ttl_s=0).version == 1
    sent.prompts[f"{PATH}?label=production"] = (200, body(2))
    assert hone.get_prompt("shop/reply", ttl_s=60).version == 1
    wait_for(lambda: hone.get_prompt("shop/reply").version == 2)


def test_a_prompt_outlives_a_server_that_fails(sent: Any, wait_for: Callable[..., Any]) -> None:
    sent.prompts[f"{PATH}?label=production"] = (200, body(1))
    assert hone.get_prompt("shop/reply", ttl_s=0).version == 1
    sent.prompts[f"{PATH}?label=production"] = (500, {"message": "broken"})
    assert hone.get_prompt("shop/reply", ttl_s=0).version == 1
    wait_for(lambda: not [t for t in threading.enumerate() if t.name == "hone-sdk-prompt"])
    assert hone.get_prompt("shop/reply", ttl_s=0).version == 1


def test_the_fallback_is_used_and_never_linked(sent: Any, caplog: pytest.LogCaptureFixture) -> None:
    sent.prompts[f"{PATH}?label=production"] = (404, {"message": "no such prompt"})
    prompt = hone.get_prompt("shop/reply", fallback="Hi {{name}}")
    assert (prompt.compile(name="Bo"), prompt.version, prompt.is_fallback) == ("Hi Bo", 0, True)
    assert "no such prompt" in caplog.text
    with hone.generation("answer", prompt=prompt):
        pass
    assert sent.named("answer").said("prompt.name") is None


@pytest.mark.parametrize("answer", [(404, {}), (200, []), (200, {"name": "x"}), (200, None)])
def test_without_a_fallback_it_raises_one_error(sent: Any, answer: Any) -> None:
    sent.prompts[f"{PATH}?label=production"] = answer
    with pytest.raises(hone.PromptError):
        hone.get_prompt("shop/reply")


def test_without_init_only_a_fallback_can_be_had() -> None:
    with pytest.raises(hone.PromptError, match=r"hone\.sdk\.init"):
        hone.get_prompt("x")
    assert hone.get_prompt("x", fallback="y").prompt == "y"


def test_a_score_judges_the_current_observation(start: Any) -> None:
    sent = start(environment="ci")
    with hone.span("x") as span:
        first = hone.score("helpful", 0.5, comment="so so", metadata={"by": "test"})
        hone.score("right", True)
        hone.score("tone", "friendly", score_id="mine")
    one, two, three = sent.scores
    moment = dt.datetime.fromisoformat(one.pop("timestamp"))
    assert abs((dt.datetime.now(dt.UTC) - moment).total_seconds()) < 60
    assert one == {
        "id": first,
        "name": "helpful",
        "value": 0.5,
        "traceId": span.trace_id,
        "observationId": span.id,
        "comment": "so so",
        "metadata": {"by": "test"},
        "environment": "ci",
    }
    assert (two["value"], two["dataType"]) == (1.0, "BOOLEAN")
    assert (three["id"], three["value"]) == ("mine", "friendly")


def test_a_trace_that_is_not_sampled_gets_no_score(start: Any) -> None:
    sent = start(sample_rate=0.0)
    with hone.span("x"):
        assert hone.score("helpful", 0.5) is None
    assert sent.scores == []


def test_a_score_names_what_it_judges(sent: Any, caplog: pytest.LogCaptureFixture) -> None:
    hone.score("a", 1, trace_id="ab" * 16)
    hone.score("b", 1, session_id="s")
    assert hone.score("c", 1) is None
    assert hone.score("d", object(), trace_id="x") is None  # type: ignore[arg-type]
    assert [s.get("traceId") or s["sessionId"] for s in sent.scores] == ["ab" * 16, "s"]
    assert "name a trace or a session" in caplog.text


def test_scores_go_in_batches_and_are_tried_again(sent: Any) -> None:
    sent.answers.append((503, {"Retry-After": "0"}, b""))
    for number in range(40):
        hone.score("n", number, trace_id="ab" * 16)
    assert sorted(score["value"] for score in sent.scores) == list(range(40))
    assert max(len(body) for _, path, body in sent.requests if path.endswith("scores")) <= 15


def test_each_user_has_an_answer_of_their_own(sent: Any) -> None:
    sent.prompts[f"{PATH}?label=production&user=ann"] = (200, body(3))
    sent.prompts[f"{PATH}?label=production&session=s1"] = (200, body(4))
    assert hone.get_prompt("shop/reply", user="ann", session="s1").version == 3
    assert hone.get_prompt("shop/reply", session="s1").version == 4
    assert hone.get_prompt("shop/reply", user="ann").version == 3
    assert len(sent.requests) == 2
