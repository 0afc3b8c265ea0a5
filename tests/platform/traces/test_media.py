"""Files: announced, uploaded to a signed address, read from one, deleted with their last use."""

import base64
import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings

from hone.common import clock
from hone.traces.api import media_door
from hone.traces.core.media import MediaToken, media_key, tokens_in
from hone.traces.models import Media, MediaChunk
from hone.traces.services import media, trace_delete

TRACE, OTHER = "0af7651916cd43dd8448eb211c80319c", "e" * 32
CONTENT = bytes(range(256)) * 2100  # three pieces


@pytest.fixture
def public(as_nobody, api_key):
    def call(method: str, path: str, body: Any = None, key: Any = api_key) -> Any:
        pair = base64.b64encode(f"{key.row.public_key}:{key.secret}".encode()).decode()
        headers = {"authorization": f"Basic {pair}"}
        return as_nobody.generic(method, f"/api/public{path}", body or b"", headers=headers)

    return call


def announcement(content: bytes = CONTENT, **more: Any) -> dict[str, Any]:
    sha256 = base64.b64encode(hashlib.sha256(content).digest()).decode()
    body = {"traceId": TRACE, "observationId": None, "contentType": "image/png", "field": "input"}
    return {**body, "contentLength": len(content), "sha256Hash": sha256, **more}


@pytest.fixture
def door(asgi) -> Callable[..., Any]:
    """`door("PUT", url, body=…, headers=…)` on the address that the API gave."""

    def call(method: str, url: str, **options: Any) -> Any:
        path = url.partition("//testserver")[2]
        return asgi(media_door.application, method, path, **options)

    return call


def upload(public, door, content: bytes = CONTENT, **more: Any) -> str:
    made = public("POST", "/media", announcement(content, **more)).json()
    headers = {"content-type": more.get("contentType", "image/png")}
    answer = door("PUT", made["uploadUrl"], body=content, headers=headers)
    assert answer.status == 200, answer.body
    return str(made["mediaId"])


def test_a_file_is_stored_once_and_read_back(public, door) -> None:
    made = public("POST", "/media", announcement())
    key = media_key(hashlib.sha256(CONTENT).digest())
    assert (made.status_code, made.json()["mediaId"], len(key)) == (201, key, 22)
    url = made.json()["uploadUrl"]
    assert url.startswith("http://testserver/api/public/media-content/")
    assert public("GET", f"/media/{key}").status_code == 404
    headers = {"content-type": "image/png", "x-amz-checksum-sha256": "as the SDK sends it"}
    assert door("PUT", url, body=CONTENT, headers=headers).status == 200
    assert door("PUT", url, body=CONTENT, headers=headers).status == 200  # a retry
    assert public("PATCH", f"/media/{key}", {"uploadHttpStatus": 200}).status_code == 204
    assert MediaChunk.objects.count() == 3
    found = public("GET", f"/media/{key}").json()
    assert (found["contentLength"], found["contentType"]) == (len(CONTENT), "image/png")
    answer = door("GET", found["url"])
    assert (answer.status, answer.body) == (200, CONTENT)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith("inline;")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert public("POST", "/media", announcement()).json()["uploadUrl"] is None


@pytest.mark.parametrize(
    ("wanted", "start", "end"),
    [
        ("bytes=0-9", 0, 10),
        ("bytes=262100-262200", 262100, 262201),
        ("bytes=537000-", 537000, 537600),
    ],
)
def test_a_part_is_read_across_pieces(public, door, wanted, start, end) -> None:
    key = upload(public, door)
    answer = door("GET", public("GET", f"/media/{key}").json()["url"], headers={"range": wanted})
    assert (answer.status, answer.body) == (206, CONTENT[start:end])
    assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(CONTENT)}"


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (CONTENT[:-1], {}, 400),
        (CONTENT + b"x", {}, 400),
        (CONTENT + b"x", {"content-length": ""}, 413),
        (b"\xff" + CONTENT[1:], {}, 400),
        (CONTENT, {"content-type": "text/html"}, 400),
    ],
)
def test_other_bytes_than_announced_are_refused(public, door, body, headers, status) -> None:
    url = public("POST", "/media", announcement()).json()["uploadUrl"]
    assert door("PUT", url, body=body, headers=headers).status == status
    assert MediaChunk.objects.count() == 0
    assert Media.objects.get().uploaded_at is None


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "application/javascript"])
def test_what_could_run_is_a_download(public, door, kind) -> None:
    key = upload(public, door, b"<script>alert(1)</script>", contentType=kind)
    answer = door("GET", public("GET", f"/media/{key}").json()["url"])
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment;")


@pytest.mark.parametrize(
    "change",
    [
        {"contentLength": settings.HONE_MEDIA_MAX_BYTES + 1},
        {"contentLength": 0},
        {"contentType": "image/png\r\nx: y"},
        {"sha256Hash": "AAAA"},
        {"field": "elsewhere"},
    ],
)
def test_what_cannot_be_stored_is_not_announced(public, change) -> None:
    assert public("POST", "/media", announcement(**change)).status_code in (400, 413)
    assert not Media.objects.exists()


def test_an_address_opens_one_thing_for_a_while(public, door, monkeypatch) -> None:
    key = upload(public, door)
    url = public("GET", f"/media/{key}").json()["url"]
    assert door("PUT", url, body=CONTENT).status == 404  # made for reading
    assert door("GET", url[:-1] + ("0" if url[-1] != "0" else "1")).status == 404
    assert door("GET", "//testserver/api/public/media-content/x.y").status == 404
    assert door("POST", url).status == 405
    later = clock.now() + media.LIFETIME + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert door("GET", url).status == 404


def test_another_projects_key_finds_no_file(public, door, foreign_key, as_charlie, as_bob) -> None:
    key = upload(public, door)
    assert public("GET", f"/media/{key}", key=foreign_key).status_code == 404
    assert as_charlie.get(f"/api/projects/demo/media/{key}").status_code == 404
    found = as_bob.get(f"/api/projects/demo/media/{key}").json()
    assert door("GET", f"//testserver{found['url']}").body == CONTENT
    # The same content in another project is another file.
    theirs = public("POST", "/media", announcement(), key=foreign_key).json()
    assert theirs["mediaId"] == key
    assert theirs["uploadUrl"] is not None


def test_a_file_goes_with_the_last_trace_that_uses_it(public, door, project, make_trace) -> None:
    make_trace(TRACE)
    make_trace(OTHER)
    upload(public, door)
    public("POST", "/media", announcement(traceId=OTHER, field="output"))
    trace_delete(project_id=project.pk, trace_id=TRACE)
    assert Media.objects.count() == 1
    trace_delete(project_id=project.pk, trace_id=OTHER)
    assert (Media.objects.count(), MediaChunk.objects.count()) == (0, 0)


def test_a_file_that_never_came_is_forgotten(public, door, monkeypatch) -> None:
    upload(public, door)
    public("POST", "/media", announcement(b"never"))
    assert media.media_sweep() == 0
    later = clock.now() + timedelta(days=2)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert media.media_sweep() == 1
    assert Media.objects.get().uploaded_at is not None


def test_tokens_are_found_where_they_stand() -> None:
    key = "k" * 22
    token = f"@@@langfuseMedia:type=image/png|id={key}|source=base64_data_uri@@@"
    value = {"messages": [{"content": f"see {token}"}], "a b": token, "n": 1, "x": "@@@no@@@"}
    assert tokens_in(value) == [
        MediaToken(token, "image/png", key, "$.messages[0].content"),
        MediaToken(token, "image/png", key, "$['a b']"),
    ]
