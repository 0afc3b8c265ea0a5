"""Secrets are gone before anything is stored, whichever door they came through."""

import json
import time
from typing import Any

import pytest
from django.db import connection

from hone.accounts.core.roles import Role
from hone.traces.core.masks import FAILED, Masks, PatternError, masked, rule_of, rules_of
from hone.traces.core.span import Event
from hone.traces.ingest import application
from hone.traces.services import spans_ingest

MASKS = "/api/projects/demo/masks"
SECRET = "sk-abcdef0123456789"
RULE = {"name": "keys", "pattern": "sk-[a-z0-9]{8,}"}


def everything_stored() -> str:
    """All text of the tables of traces."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT string_agg(to_jsonb(o)::text, ' ') FROM traces_observation o"
            " UNION ALL SELECT string_agg(to_jsonb(t)::text, ' ') FROM traces_trace t"
        )
        return " ".join(row[0] or "" for row in cursor.fetchall())


def loaded(make_span: Any) -> Any:
    return make_span(
        name=f"call {SECRET}",
        input=f'{{"headers": {{"{SECRET}": "Bearer {SECRET}"}}}}',
        output=f"the key is {SECRET}",
        status_message=f"denied {SECRET}",
        metadata={"deep": [{"x": SECRET}]},
        attributes={"http.request": f'{{"token": "{SECRET}"}}', "n": 1},
        model_parameters={"key": SECRET},
        events=[Event("exception", 1, {"exception.message": SECRET})],
        tags=(SECRET, "kept"),
        user_id=SECRET,
        session_id=f"s-{SECRET}",
        trace_name=SECRET,
    )


@pytest.mark.django_db
def test_nothing_of_a_secret_is_stored(as_alice, project, make_span) -> None:
    assert as_alice.post(MASKS, RULE).status_code == 201
    spans_ingest(project_id=project.id, spans=[loaded(make_span)])
    found = everything_stored()
    assert SECRET not in found
    assert "[masked]" in found
    assert "kept" in found


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["application/x-protobuf", "application/json"])
def test_the_door_masks_too(asgi, api_key, as_alice, export, base_ns: int, kind: str) -> None:
    assert as_alice.post(MASKS, RULE).status_code == 201
    attributes = {"input.value": SECRET, "llm.input_messages.0.message.content": SECRET}
    body = export({"attributes": attributes})
    if "json" in kind:
        span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": SECRET}
        spans = [span | {"startTimeUnixNano": base_ns}]
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
    headers = api_key.bearer | {"content-type": kind}
    assert asgi(application, "POST", "/v1/traces", body=body, headers=headers).status == 200
    found = everything_stored()
    assert SECRET not in found
    assert "[masked]" in found


@pytest.mark.django_db
def test_a_rule_of_one_project_is_no_other_projects(as_alice, foreign_project, make_span) -> None:
    assert as_alice.post(MASKS, RULE).status_code == 201
    spans_ingest(project_id=foreign_project.id, spans=[make_span(input=SECRET)])
    assert SECRET in everything_stored()


@pytest.mark.django_db
def test_rules_are_changed_switched_off_and_deleted(as_alice, project, make_span) -> None:
    made = as_alice.post(MASKS, RULE).json()
    changed = as_alice.patch(f"{MASKS}/{made['id']}", {"replacement": "***"}).json()
    assert (changed["replacement"], changed["author"]) == ("***", "Alice")
    spans_ingest(project_id=project.id, spans=[make_span(0, input=SECRET)])
    as_alice.patch(f"{MASKS}/{made['id']}", {"is_enabled": False})
    spans_ingest(project_id=project.id, spans=[make_span(1, input=f"1{SECRET}")])
    assert as_alice.delete(f"{MASKS}/{made['id']}").status_code == 204
    assert as_alice.get(MASKS).json()["data"] == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT input FROM traces_observation ORDER BY span_id")
        assert [row[0] for row in cursor.fetchall()] == ["***", f"1{SECRET}"]


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER])
def test_only_admins_see_and_set_masks(as_role, as_alice, role: Role) -> None:
    made = as_alice.post(MASKS, RULE).json()
    other = as_role(role)
    assert other.get(MASKS).status_code == 403
    assert other.post(MASKS, RULE).status_code == 403
    assert other.patch(f"{MASKS}/{made['id']}", {"name": "x"}).status_code == 403
    assert other.delete(f"{MASKS}/{made['id']}").status_code == 403


@pytest.mark.django_db
def test_a_pattern_is_tried_before_it_is_a_rule(as_alice, as_bob, as_charlie) -> None:
    asked = {"pattern": r"(\w+)@\w+", "replacement": r"\1@*", "text": '{"to": "ada@x, bob@y"}'}
    tried = as_alice.post(f"{MASKS}/test", asked)
    assert tried.json() == {"text": '{"to":"ada@*, bob@*"}', "count": 2}
    refused = as_alice.post(f"{MASKS}/test", asked | {"pattern": "("})
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "pattern")
    assert as_alice.get(MASKS).json()["data"] == []
    assert as_bob.post(f"{MASKS}/test", asked).status_code == 403
    assert as_charlie.post(f"{MASKS}/test", asked).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"pattern": "("}, "pattern"),
        ({"pattern": "(?<=a)b"}, "pattern"),
        ({"pattern": "a*"}, "pattern"),
        ({"pattern": "x" * 1001}, "pattern"),
        ({"replacement": "\\3"}, "replacement"),
        ({"replacement": "x" * 201}, "replacement"),
    ],
)
def test_what_is_no_rule_is_refused(as_alice, change: dict[str, str], field: str) -> None:
    answer = as_alice.post(MASKS, RULE | change)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == field


def test_no_pattern_takes_long() -> None:
    """The classic that keeps a backtracking matcher busy for longer than the universe."""
    rule = rule_of(r"^(a+)+$", "x")
    started = time.process_time()
    assert Masks(1, [rule]).text("a" * 100_000 + "!") == "a" * 100_000 + "!"
    assert time.process_time() - started < 2


@pytest.mark.parametrize("pattern", ["(a{1000}){1000}", "((a{100}){100}){100}"])
def test_a_pattern_that_needs_much_memory_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        rule_of(pattern, "")


def test_json_stays_json() -> None:
    masks = Masks(1, rules_of([(r'"?\d{16}"?', 'a "quoted" thing')]))
    found = masks.payload('{"card": 4111111111111111, "n": 5, "ok": true, "s": "4111111111111111"}')
    assert found == ('{"card":"a \\"quoted\\" thing","n":5,"ok":true,"s":"a \\"quoted\\" thing"}')
    assert masks.payload('{"as": "it was",  "n": 1}') == '{"as": "it was",  "n": 1}'


def test_text_that_postgresql_cannot_hold_is_masked_as_it_is_stored() -> None:
    assert Masks(1, rules_of([("secret", "x")])).text("\ud800 secret \x00") == "\\ud800 x \\u0000"


def shout(project_id: int, text: str) -> str:
    """A hook as an installation may have one."""
    if "boom" in text:
        raise RuntimeError("of no use")
    return text.upper()


def test_the_hook_comes_last_and_its_failure_costs_the_text(make_span) -> None:
    masks = Masks(1, rules_of([("a", "b")]), shout)
    span = masked(make_span(input="cat", output="boom"), masks)
    assert (span.input, span.output) == ("CBT", FAILED)


@pytest.mark.django_db
def test_the_hook_of_the_installation_is_used(settings, project, make_span) -> None:
    settings.HONE_TRACES_MASK_HOOK = f"{__name__}.shout"
    spans_ingest(project_id=project.id, spans=[make_span(input="quiet")])
    assert "QUIET" in everything_stored()
