import gzip
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from hone.common import broker, health
from hone.config.routing import build


@pytest.fixture
def web(settings, tmp_path: Path):
    """The web process's application, with a small built UI."""
    settings.HONE_UI_DIR = tmp_path
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<title>Hone</title>")
    (tmp_path / "assets" / "app-1234.js").write_text("console.log(1)")
    (tmp_path / "assets" / "app-1234.js.gz").write_bytes(gzip.compress(b"console.log(1)"))
    (tmp_path / "assets" / "app-1234.js.br").write_bytes(b"brotli")
    (tmp_path.parent / "secret.txt").write_text("not for you")
    return build()


@pytest.mark.parametrize("path", ["/", "/p/demo/traces", "/p/demo/prompts/a.b/c"])
def test_pages_get_the_index(asgi, web, path: str) -> None:
    answer = asgi(web, "GET", path, headers={"accept": "text/html"})
    assert (answer.status, answer.body) == (200, b"<title>Hone</title>")
    assert answer.headers["cache-control"] == "no-cache"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    unchanged = asgi(web, "GET", path, headers={"if-none-match": answer.headers["etag"]})
    assert (unchanged.status, unchanged.body) == (304, b"")


@pytest.mark.parametrize(
    ("accept", "encoding", "body"),
    [
        ("gzip, deflate, br", "br", b"brotli"),
        ("gzip;q=0.5", "gzip", gzip.compress(b"console.log(1)")),
        ("", None, b"console.log(1)"),
    ],
)
def test_assets_are_sent_packed_and_for_ever(asgi, web, accept, encoding, body) -> None:
    answer = asgi(web, "GET", "/assets/app-1234.js", headers={"accept-encoding": accept})
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    if encoding == "gzip":
        assert gzip.decompress(answer.body) == gzip.decompress(body)
    else:
        assert answer.body == body


@pytest.mark.parametrize(
    "path",
    ["/assets/gone.js", "/favicon.png", "/assets/../../secret.txt", "/assets/\x00", "/robots.txt"],
)
def test_files_that_are_not_there_are_not_found(asgi, web, path: str) -> None:
    answer = asgi(web, "GET", path)
    assert (answer.status, b"not for you" in answer.body) == (404, False)


@pytest.mark.parametrize("path", ["/../secret.txt", "//etc/passwd", "/..%2fsecret.txt"])
def test_no_path_leads_out_of_the_folder(asgi, web, path: str) -> None:
    for headers in ({}, {"accept": "text/html"}):
        answer = asgi(web, "GET", path, headers=headers)
        assert b"not for you" not in answer.body
        assert b"root:" not in answer.body


def test_head_has_the_length_and_no_body(asgi, web) -> None:
    answer = asgi(web, "HEAD", "/")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "19")
    assert asgi(web, "POST", "/", body=b"x").status == 405


def test_the_api_is_djangos(asgi, web, project) -> None:
    answer = asgi(web, "GET", "/api/projects", headers={"host": "localhost"})
    assert (answer.status, answer.json()["error"]["code"]) == (401, "unauthenticated")
    assert len(answer.headers["x-request-id"]) == 32


@pytest.mark.django_db(transaction=True)  # Django runs it in a thread of its own
def test_a_key_opens_the_api_through_the_whole_house(asgi, web, api_key) -> None:
    headers = {**api_key.bearer, "host": "localhost"}
    assert asgi(web, "GET", "/api/projects/demo", headers=headers).json()["slug"] == "demo"


def test_a_strange_host_is_refused(asgi, web, db) -> None:
    answer = asgi(web, "GET", "/api/auth/me", headers={"host": "evil.example"})
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid")


def test_a_large_body_never_reaches_django(asgi, web, api_key, settings) -> None:
    body = b"x" * (settings.HONE_MAX_BODY_BYTES + 1)
    headers = {**api_key.bearer, "host": "localhost", "content-type": "application/json"}
    assert asgi(web, "POST", "/api/projects", body=body, headers=headers).status == 413


@pytest.mark.parametrize("path", ["/health", "/api/health"])
def test_health_is_ok_where_both_servers_answer(asgi, web, db, path: str) -> None:
    answer = asgi(web, "GET", path)
    assert answer.status == 200
    assert answer.json() == {"status": "ok", "database": "ok", "broker": "ok"}


def test_health_names_the_part_that_is_down(asgi, web, db, monkeypatch) -> None:
    nowhere = redis.asyncio.Redis(unix_socket_path="/nowhere", retry=Retry(NoBackoff(), 0))
    monkeypatch.setattr(broker, "aclient", lambda: nowhere)
    monkeypatch.setattr(health, "_ask_database", lambda: 1 / 0)
    answer = asgi(web, "GET", "/health")
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    assert answer.json() == {
        "status": "degraded",
        "database": "down: ZeroDivisionError",
        "broker": "down: ConnectionError",
    }


DOORS = [
    ("POST", "/v1/traces"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/completions"),
    ("GET", "/v1/models"),
    ("GET", "/api/projects/demo/live"),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("method", "path"), DOORS)
def test_the_doors_in_front_of_django_want_a_key_too(asgi, web, project, method, path) -> None:
    for headers in ({}, {"authorization": "Bearer sk-hone-wrong"}):
        answer = asgi(web, method, path, body=b"{}", headers={**headers, "host": "localhost"})
        assert (answer.status, answer.body == b"") == (401, False)


@pytest.mark.django_db(transaction=True)
def test_a_foreign_key_hears_no_project_of_others(asgi, web, project, foreign_key) -> None:
    headers = {**foreign_key.bearer, "host": "localhost"}
    answer = asgi(web, "GET", "/api/projects/demo/live", headers=headers)
    assert (answer.status, answer.json()["error"]["code"]) == (404, "not_found")
