"""Secrets are gone before anything is stored, whichever door they came through."""

import json
import time
from typing import Any

import orjson
import pytest
from django.db import connection

from hone.accounts.core.roles import Role
from hone.common import clock
from hone.config.routing import build
from hone.traces.core.masks import FAILED, Masks, PatternError, masked, rule_of, rules_of
from hone.traces.core.span import Event
from hone.traces.ingest import application
from hone.traces.services import spans_ingest

MASKS = "/api/projects/demo/masks"
SECRET = "sk-abcdef0123456789"
RULE = {"name": "keys", "pattern": "sk-[a-z0-9]{8,}"}


def everything_stored() -> str:
    """All text of the tables of traces, whatever tables there are."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'traces\\_%' AND relkind IN ('r', 'p')"
            " AND NOT relispartition AND relnamespace = 'public'::regnamespace"
        )
        tables = [name for (name,) in cursor.fetchall()]
        assert {"traces_observation", "traces_score", "traces_comment"} <= set(tables)
        every = (f"SELECT to_jsonb(x)::text FROM {name} x" for name in tables)
        cursor.execute(" UNION ALL ".join(every))
        return " ".join(text for (text,) in cursor.fetchall())


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
@pytest.mark.parametrize(("role", "sees"), [(Role.VIEWER, 403), (Role.MEMBER, 200)])
def test_members_see_masks_and_only_admins_set_them(
    as_role, as_alice, as_charlie, role: Role, sees: int
) -> None:
    made = as_alice.post(MASKS, RULE).json()
    other = as_role(role)
    assert other.get(MASKS).status_code == sees
    assert as_charlie.get(MASKS).status_code == 404
    assert other.post(MASKS, RULE).status_code == 403
    assert other.patch(f"{MASKS}/{made['id']}", {"name": "x"}).status_code == 403
    assert other.delete(f"{MASKS}/{made['id']}").status_code == 403


def event(kind: str, **body: Any) -> dict[str, Any]:
    at = clock.now().isoformat()
    return {"id": kind, "type": kind, "timestamp": at, "body": {"id": kind, **body}}


TARGET = {"traceId": "ab" * 16, "observationId": "cd" * 8}
SAID = {"name": "n", "value": f"good {SECRET}", "comment": SECRET, "metadata": {"k": [SECRET]}}
DOORS = {
    "spans": (
        "/api/public/ingestion",
        {
            "batch": [
                event("trace-create", input={"key": SECRET}, userId=SECRET),
                event("generation-create", traceId="trace-create", output=SECRET, name=SECRET),
            ]
        },
    ),
    "scores of old": (
        "/api/public/ingestion",
        {"batch": [event("score-create", **TARGET, **SAID)]},
    ),
    "a score": ("/api/public/scores", {**TARGET, **SAID}),
    "scores": ("/api/public/scores", [{**TARGET, **SAID}, {"sessionId": SECRET, **SAID}]),
    "our scores": (
        "/api/projects/demo/scores",
        {"trace_id": "ab" * 16, "name": "n", "text": SECRET, "comment": SECRET},
    ),
    "our comments": (
        "/api/projects/demo/comments",
        {"object_type": "TRACE", "object_id": "ab" * 16, "content": f"is it {SECRET}?"},
    ),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("hook", ["", f"{__name__}.hide"])
@pytest.mark.parametrize("door", DOORS)
def test_every_door_masks_what_is_said(
    asgi, api_key, as_alice, settings, transactional_db, door: str, hook: str
) -> None:
    """By a rule of the project, or by the hook of the installation."""
    settings.HONE_TRACES_MASK_HOOK = hook
    if not hook:
        assert as_alice.post(MASKS, RULE).status_code == 201
    path, body = DOORS[door]
    headers = {**api_key.bearer, "host": "localhost", "content-type": "application/json"}
    answer = asgi(build(), "POST", path, body=orjson.dumps(body), headers=headers)
    assert answer.status in (200, 201, 202, 207), answer.body
    assert not (answer.json() or {}).get("errors")
    assert SECRET.encode() not in answer.body
    found = everything_stored()
    assert "[masked]" in found
    assert SECRET not in found


@pytest.mark.django_db
def test_what_people_write_to_be_used_word_for_word_is_not_masked(as_key, as_alice) -> None:
    assert as_alice.post(MASKS, RULE).status_code == 201
    assert as_key.post("/api/public/v2/datasets", {"name": "d"}).status_code == 200
    item = as_key.post("/api/public/dataset-items", {"datasetName": "d", "input": SECRET}).json()
    assert as_key.get(f"/api/public/dataset-items/{item['id']}").json()["input"] == SECRET


@pytest.mark.django_db
def test_without_the_hook_that_was_named_nothing_is_taken(asgi, api_key, settings, export) -> None:
    settings.HONE_TRACES_MASK_HOOK = "nowhere.at_all"
    headers = api_key.bearer | {"content-type": "application/x-protobuf"}
    answer = asgi(application, "POST", "/v1/traces", body=export({"name": SECRET}), headers=headers)
    assert (answer.status, "retry-after" in answer.headers) == (503, True)
    assert SECRET not in everything_stored()


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


def hide(project_id: int, text: str) -> str:
    """Another one."""
    return text.replace(SECRET, "[masked]")


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
