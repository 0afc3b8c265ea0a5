"""Web pages send scores with a public key alone: new ones, and nothing else."""

from typing import Any

import orjson
import pytest

from hone.accounts.services import api_key_revoke
from hone.traces.models import Score

PATH = "/api/public/ingestion"
TRACE = "ab" * 16


@pytest.fixture(autouse=True)
def _at_recording(at_recording: None) -> None:
    pass


def event(kind: str = "score-create", **body: Any) -> dict[str, Any]:
    body = {"id": "s1", "traceId": TRACE, "name": "thumb", "value": 1, **body}
    return {
        "id": f"e-{body['id']}",
        "type": kind,
        "timestamp": "2026-11-30T13:00:00Z",
        "body": body,
    }


@pytest.fixture
def page(sdk, api_key) -> Any:
    """Sends events as a page does; the answer."""
    headers = {
        "authorization": f"Bearer {api_key.row.public_key}",
        "origin": "https://shop.example",
    }

    def send(*events: Any, **more: str) -> Any:
        body = orjson.dumps({"batch": events})
        return sdk.send("POST", PATH, body=body, **{**headers, **more})

    return send


def test_a_page_sends_a_score(page, sdk) -> None:
    answer = page(event())
    assert (answer.status, answer.json()["errors"]) == (207, [])
    assert answer.headers["access-control-allow-origin"] == "*"
    [score] = sdk.get("v3/scores")["data"]
    assert (score["name"], score["source"]) == ("thumb", "API")


@pytest.mark.parametrize(
    "refused",
    [
        event("trace-create", id="t"),
        event("span-create", id="t"),
        event("generation-update", id="t"),
        event(id="t", source="ANNOTATION"),
        event(id="t", source="EVAL"),
        event(id=7),
        {"type": "score-create", "body": 3},
        "nothing",
    ],
)
def test_a_page_may_do_nothing_else(page, sdk, refused: Any) -> None:
    answer = page(refused, event())
    said = answer.json()
    assert [error["status"] for error in said["errors"]] == [403]
    assert [one["id"] for one in said["successes"]] == ["e-s1"]
    assert sdk.get("traces")["data"] == []
    assert [score["id"] for score in sdk.get("v3/scores")["data"]] == ["s1"]


def test_a_page_changes_no_score_that_is_there(page, sdk) -> None:
    sdk.batch(event(value=0, comment="ours"))
    assert page(event(value=1)).json()["errors"][0]["status"] == 403
    assert Score.objects.get().comment == "ours"
    assert page(event(id="s2")).json()["errors"] == []


def test_a_public_key_reads_nothing_and_opens_no_other_door(sdk, api_key, asgi) -> None:
    headers = {"authorization": f"Bearer {api_key.row.public_key}"}
    for method, path in (
        ("GET", "/api/public/traces"),
        ("GET", "/api/public/v3/scores"),
        ("POST", "/api/public/scores"),
        ("POST", "/api/public/otel/v1/traces"),
        ("POST", "/v1/traces"),
        ("DELETE", "/api/public/traces"),
        ("GET", "/api/public/projects"),
    ):
        assert sdk.send(method, path, body=b"{}", **headers).status == 401, path


def test_a_key_that_is_none_or_revoked_sends_nothing(page, api_key, settings) -> None:
    assert page(event(), authorization="Bearer pk-hone-unknown").status == 401
    assert page(event(), authorization=f"Bearer {api_key.row.public_key}x").status == 401
    settings.HONE_BROWSER_SCORES = False
    assert page(event()).status == 401
    settings.HONE_BROWSER_SCORES = True
    api_key_revoke(project=api_key.row.project, key_id=api_key.row.pk)
    refused = page(event())
    assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, "*")


def test_a_browser_asks_first(sdk) -> None:
    asked = "authorization, content-type, x-langfuse-sdk-name, bad\r\nset-cookie: x"
    answer = sdk.send("OPTIONS", PATH, **{"access-control-request-headers": asked})
    assert answer.status == 204
    assert answer.headers["access-control-allow-methods"] == "POST"
    allowed = answer.headers["access-control-allow-headers"]
    assert allowed == "authorization, content-type, x-langfuse-sdk-name"
    assert "access-control-allow-credentials" not in answer.headers
