"""What the demo project holds: prompts written through the API, traces made by the engine."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from hone.supervisor.probe import Answer, ask

ANSWER_TIMEOUT_S = 120.0
TRIES, PAUSE_S = 20, 1.0

SUPPORT = "support/reply"
SUMMARY = "summarize"

SUPPORT_FIRST = [
    {"role": "system", "content": "You answer customers of a bicycle shop."},
    {"role": "user", "content": "{{question}}"},
]
SUPPORT_SECOND = [
    {
        "role": "system",
        "content": "You answer customers of the bicycle shop {{shop}}. Be friendly, "
        "answer in at most three sentences, and say when you are not sure.",
    },
    {"role": "user", "content": "{{question}}"},
]
SUMMARY_FIRST = "Summarize this text:\n\n{{text}}"
SUMMARY_SECOND = "Summarize this text in one short sentence for a busy reader:\n\n{{text}}"
TEXT = (
    "The library of the town opens again on Monday. Its reading room was renewed over the summer, "
    "the shelves for children now stand beside the garden, and on Thursdays the doors stay open "
    "until nine in the evening."
)


class SeedError(Exception):
    """The product refused a step of the seeding; the message is its answer."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to /v1/chat/completions and the trace's own headers."""

    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    expected: int = 200


def calls(model: str) -> list[Call]:
    """The requests whose traces the demo shows; the last one fails on purpose."""
    shop = {"shop": "Two Wheels"}
    session = {"x-hone-session": "visit-1", "x-hone-user": "ada", "x-hone-tags": "demo,support"}

    def reply(question: str, **more: Any) -> dict[str, Any]:
        variables = {**shop, "question": question}
        return {"model": model, "prompt": f"{SUPPORT}@production", "variables": variables} | more

    return [
        Call(reply("How often should I oil the chain?", max_tokens=64, seed=1), session),
        Call(reply("And which oil for rainy days?", max_tokens=64, seed=2), session),
        Call(reply("Do you repair a flat tire today?", max_tokens=48, temperature=0.2, seed=3)),
        Call(
            {
                "model": model,
                "prompt": f"{SUMMARY}@production",
                "variables": {"text": TEXT},
                "max_tokens": 48,
                "temperature": 0,
            },
            {"x-hone-tags": "demo,summary", "x-hone-user": "grace"},
        ),
        Call(
            {
                "model": model,
                "messages": [{"role": "user", "content": "Write two lines about the sea."}],
                "max_tokens": 48,
                "temperature": 0.8,
                "top_p": 0.9,
                "seed": 5,
            },
            {"x-hone-trace-name": "a small poem"},
        ),
        Call(
            {"model": "a-model-nobody-has", "messages": [{"role": "user", "content": "Hello?"}]},
            {"x-hone-tags": "demo"},
            expected=404,
        ),
    ]


def seed(url: str, secret: str, model: str, said: Callable[[str], None] = lambda text: None) -> int:
    """Write the demo's prompts and make its traces; returns the number of traces.

    Running it again adds nothing to prompts that are there. Raises SeedError.
    """
    project = _project(url, secret)
    prompts = f"/api/projects/{project}/prompts"
    _prompt(url, secret, prompts, SUPPORT, "chat", (SUPPORT_FIRST, SUPPORT_SECOND))
    _prompt(url, secret, prompts, SUMMARY, "text", (SUMMARY_FIRST, SUMMARY_SECOND))
    said("the demo's prompts are there")
    made = calls(model) if model else []
    for call in made:
        _expect(_answer(url, secret, call), call.expected)
    return len(made)


def _answer(url: str, secret: str, call: Call) -> Answer:
    """The answer of a call; one that came at a bad moment is made again."""
    for _ in range(TRIES):
        answer = ask(
            url,
            "/v1/chat/completions",
            method="POST",
            secret=secret,
            body=call.body,
            headers=call.headers,
            timeout_s=ANSWER_TIMEOUT_S,
        )
        if answer.status not in (0, 429, 503):
            break
        time.sleep(PAUSE_S)
    return answer


def _project(url: str, secret: str) -> str:
    answer = ask(url, "/api/projects", secret=secret)
    _expect(answer, 200)
    rows = answer.body["data"]
    if not rows:
        raise SeedError("the key belongs to no project")
    return str(rows[0]["slug"])


def _prompt(
    url: str, secret: str, prompts: str, name: str, kind: str, texts: tuple[Any, Any]
) -> None:
    path = f"{prompts}/{quote(name)}"
    if ask(url, path, secret=secret).status == 200:
        return
    first = {"type": kind, "prompt": texts[0], "labels": ["staging"], "message": "First draft"}
    body = {"name": name, **first, "tags": ["demo"]}
    _expect(ask(url, prompts, method="POST", secret=secret, body=body), 201)
    second = {
        "type": kind,
        "prompt": texts[1],
        "labels": ["production"],
        "message": "Say how long the answer may be",
    }
    _expect(ask(url, f"{path}/versions", method="POST", secret=secret, body=second), 201)


def _expect(answer: Answer, status: int) -> None:
    if answer.status != status:
        raise SeedError(f"{status} was expected, {answer.status} came: {str(answer.body)[:300]}")
