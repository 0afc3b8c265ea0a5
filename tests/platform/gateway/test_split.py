"""A split label through the gateway: dealt by the request's user or session, told in the trace."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.db import connection

from hone.accounts.models import Project
from hone.gateway.models import Connection
from hone.prompts.core.split import Arm
from hone.prompts.models import Prompt
from hone.prompts.services import Author, label_split, version_create


@pytest.fixture
def split(project: Project, greeting: None) -> None:
    """greet@production is one half version 1 and one half version 2."""
    prompt = Prompt.objects.get(project=project, name="greet")
    content = [{"role": "system", "content": "Welcome {{name}}."}]
    version_create(prompt=prompt, author=Author("Alice"), content=content)
    arms = [Arm(1, 50), Arm(2, 50)]
    label_split(prompt=prompt, author=Author("Alice"), label="production", arms=arms)


def attributes(project: Project, trace_id: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attributes, prompt_version FROM traces_observation WHERE project_id = %s"
            " AND encode(trace_id, 'hex') = %s AND name IN ('chat completion', 'generation')",
            [project.pk, trace_id],
        )
        return [orjson.loads(row[0]) | {"version": row[1]} for row in cursor.fetchall()]


def test_the_same_person_gets_the_same_version_and_the_trace_tells_it(
    ask: Any, far: Any, far_connection: Connection, split: None, say: Callable[..., Any],
    project: Project,
) -> None:  # fmt: skip
    texts = {1: "Greet Ada.", 2: "Welcome Ada."}
    seen: dict[str, set[str]] = {}
    for user in [f"u{number}" for number in range(12)] * 2:
        reply = ask(body=say(prompt="greet@production", variables={"name": "Ada"}, user=user))
        assert reply.status == 200
        text = far.requests[-1][1]["messages"][0]["content"]
        seen.setdefault(user, set()).add(text)
        told = attributes(project, reply.headers["x-hone-trace-id"])
        assert len(told) == 2
        for span in told:
            assert texts[span["prompt.split.version"]] == text
            assert span["prompt.split.label"] == "production"
            assert (span["prompt.split.by"], span["prompt.split.arms"]) == ("user", "1:50,2:50")
        assert {span["version"] for span in told} & {"1", "2"} == {
            str(next(version for version, said in texts.items() if said == text))
        }
    assert all(len(found) == 1 for found in seen.values())
    assert len(set.union(*seen.values())) == 2


def test_whoever_names_nobody_gets_the_first_version(
    ask: Any, far: Any, far_connection: Connection, split: None, say: Callable[..., Any],
    project: Project,
) -> None:  # fmt: skip
    for _ in range(5):
        reply = ask(body=say(prompt="greet@production", variables={"name": "Ada"}))
        assert far.requests[-1][1]["messages"][0]["content"] == "Greet Ada."
        told = attributes(project, reply.headers["x-hone-trace-id"])
        assert {span["prompt.split.by"] for span in told} == {"nobody"}
