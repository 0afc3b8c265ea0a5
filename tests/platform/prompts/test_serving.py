"""Prompts given out from memory: moves are seen, answers are whole, splits are dealt."""

import io
import sys
import threading
import time
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test.utils import CaptureQueriesContext

sys.path.insert(0, str(Path(__file__).parents[1] / "collab"))  # for rooms

from rooms import Web

from hone.common import broker
from hone.common.asgi import send_json
from hone.prompts.api import read_door
from hone.prompts.core.names import Reference
from hone.prompts.core.served_cache import ServedCache, mark_of
from hone.prompts.models import Label, PromptVersion
from hone.prompts.services import serving

OURS = "/api/projects/demo/prompts"
PUBLIC = "/api/public/v2/prompts"


@pytest.fixture
def prompt(as_bob: Any) -> str:
    """Three versions that say their number; production is the first."""
    for number in (1, 2, 3):
        body = {"prompt": f"I am {number}", "labels": ["production"] if number == 1 else []}
        path = OURS if number == 1 else f"{OURS}/greet/versions"
        more = {"name": "greet", "type": "text"} if number == 1 else {}
        assert as_bob.post(path, {**body, **more}).status_code == 201
    return "greet"


@pytest.fixture
def pair(api_key: Any) -> dict[str, str]:
    text = b64encode(f"{api_key.row.public_key}:{api_key.secret}".encode()).decode()
    return {"authorization": f"Basic {text}"}


@pytest.fixture
def read(asgi: Any, pair: dict[str, str]) -> Callable[..., Any]:
    door = read_door.in_front_of(lambda _s, _r, send: send_json(send, 418, {}))

    def ask(name: str = "greet", headers: dict[str, str] | None = None, **query: str) -> Any:
        return asgi(
            door,
            "GET",
            f"{PUBLIC}/{name}",
            headers={**pair, **(headers or {})},
            query=urlencode(query),
        )

    return ask


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> ServedCache[Any]:
    """A cache that looks up nothing by itself for minutes: only words end what it holds; not even
    that the channel was joined just now."""
    cache: ServedCache[Any] = ServedCache(bound_s=600, refresh_s=500, max_bytes=2**20)
    monkeypatch.setattr(cache, "told_all", lambda: None)
    monkeypatch.setattr(serving, "_cache", cache)
    return cache


def move(api: Any, version: int, label: str = "production") -> None:
    assert api.put(f"{OURS}/greet/labels/{label}", {"version": version}).status_code == 200


def test_a_known_prompt_asks_the_database_nothing(read: Any, prompt: str) -> None:
    first = read()
    with CaptureQueriesContext(connection) as queries:
        second = read()
    assert (first.body, len(queries)) == (second.body, 0)
    assert second.json()["prompt"] == "I am 1"
    assert float(second.headers["server-timing"].split("dur=")[1]) < 1000


def test_a_move_in_this_process_is_seen_by_the_next_read(
    read: Any, prompt: str, as_bob: Any
) -> None:
    for version in (1, 2, 3, 1):
        move(as_bob, version)
        found = read().json()
        assert (found["version"], found["prompt"]) == (version, f"I am {version}")
        assert "production" in found["labels"]


def test_whoever_has_the_answer_already_gets_304(read: Any, prompt: str, as_bob: Any) -> None:
    first = read()
    assert (first.status, first.headers["cache-control"]) == (200, "private, no-cache")
    tag = first.headers["etag"]
    for spelled in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = read(headers={"if-none-match": spelled})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    move(as_bob, 2)
    moved = read(headers={"if-none-match": tag})
    assert (moved.status, moved.json()["version"]) == (200, 2)
    assert moved.headers["etag"] != tag


def test_what_is_missing_is_known_to_be_missing_until_it_comes(
    read: Any, prompt: str, as_bob: Any
) -> None:
    assert read(label="canary").status == 404
    with CaptureQueriesContext(connection) as queries:
        assert read(label="canary").status == 404
    assert len(queries) == 0
    move(as_bob, 2, "canary")
    assert read(label="canary").json()["version"] == 2


def test_a_prompt_inside_a_prompt_is_followed(read: Any, prompt: str, as_bob: Any) -> None:
    body = {
        "name": "outer",
        "type": "text",
        "prompt": "Say: {{> greet}}.",
        "labels": ["production"],
    }
    assert as_bob.post(OURS, body).status_code == 201
    assert read("outer").json()["prompt"] == "Say: I am 1."
    move(as_bob, 3)
    assert read("outer").json()["prompt"] == "Say: I am 3."
    assert read("outer", resolve="false").json()["prompt"] == "Say: {{> greet}}."


def test_a_change_concerns_what_contains_it_and_nothing_else(
    read: Any, prompt: str, as_bob: Any, patient: ServedCache[Any]
) -> None:
    for name, text in (("outer", "Say: {{> greet}}."), ("most", "{{> outer}}"), ("other", "Hi")):
        body = {"name": name, "type": "text", "prompt": text, "labels": ["production"]}
        assert as_bob.post(OURS, body).status_code == 201
    for name in ("greet", "outer", "most", "other"):
        read(name)
    move(as_bob, 2)
    with CaptureQueriesContext(connection) as queries:
        assert read("other").json()["prompt"] == "Hi"
    assert len(queries) == 0
    assert read("most").json()["prompt"] == "Say: I am 2."
    assert read("greet").json()["prompt"] == "I am 2"


# Everything that changes what a name gives: by plain writes, which tell nobody.
OF_GREET = "prompt_id = (SELECT id FROM prompts_prompt WHERE name = 'greet')"
PRODUCTION = f"prompts_label.name = 'production' AND prompts_label.{OF_GREET}"
SILENT = {
    "a label is moved": "UPDATE prompts_label SET version_id = v.id FROM prompts_promptversion v"
    f" WHERE v.prompt_id = prompts_label.prompt_id AND v.number = 3 AND {PRODUCTION}",
    "a label is removed": f"DELETE FROM prompts_label WHERE {PRODUCTION}",
    "a split begins": "INSERT INTO prompts_labelarm (label_id, prompt_id, version_id, weight)"
    " SELECT prompts_label.id, prompts_label.prompt_id, v.id, v.number FROM prompts_label"
    " JOIN prompts_promptversion v ON v.prompt_id = prompts_label.prompt_id AND v.number <= 2"
    f" WHERE {PRODUCTION}",
    "it is renamed": "UPDATE prompts_prompt SET name = 'hello' WHERE name = 'greet'",
    "its tags change": "UPDATE prompts_prompt SET tags = '[\"x\"]' WHERE name = 'greet'",
}


@pytest.mark.parametrize("what", SILENT)
def test_a_write_that_tells_nobody_is_found_by_a_look(
    read: Any, prompt: str, as_bob: Any, project: Any, patient: ServedCache[Any], what: str
) -> None:
    body = {"name": "outer", "type": "text", "prompt": "{{> greet}}!", "labels": ["production"]}
    assert as_bob.post(OURS, body).status_code == 201
    other = {**body, "name": "other", "prompt": "Hi"}
    assert as_bob.post(OURS, other).status_code == 201
    before = {name: read(name, user="u").body for name in ("greet", "outer", "other")}
    with connection.cursor() as cursor:
        cursor.execute(SILENT[what])
        assert cursor.rowcount > 0
    assert read("greet", user="u").body == before["greet"]  # nobody has told
    patient.told(project.pk)  # as the passing of the bound does
    assert read("greet", user="u").body != before["greet"]
    if what not in ("its tags change", "a split begins"):
        assert read("outer", user="u").body != before["outer"]
    with CaptureQueriesContext(connection) as queries:
        assert read("other", user="u").body == before["other"]
    assert len(queries) == 0


def test_a_missing_inner_prompt_is_found_once_it_comes(read: Any, prompt: str, as_bob: Any) -> None:
    body = {"name": "outer", "type": "text", "prompt": "{{> greet@canary}}!"}
    assert as_bob.post(OURS, body).status_code == 404
    move(as_bob, 2, "canary")
    assert as_bob.post(OURS, body).status_code == 201
    assert read("outer", label="latest").json()["prompt"] == "I am 2!"
    Label.objects.filter(name="canary").delete()
    serving._cache.told_all()
    assert read("outer", label="latest").status == 404
    move(as_bob, 3, "canary")
    assert read("outer", label="latest").json()["prompt"] == "I am 3!"


def test_the_database_marks_a_name_as_the_servers_do(db: None) -> None:
    names = ["greet", "Ünïcode/😀 prompt", "x" * 200]
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute("SELECT prompts_mark(%s)", [name])
            assert cursor.fetchone() == (mark_of(name),)


def test_a_split_is_dealt_by_user_and_told(read: Any, prompt: str, as_bob: Any) -> None:
    arms = [{"version": 1, "weight": 50}, {"version": 2, "weight": 50}]
    split = as_bob.put(f"{OURS}/greet/labels/production/split", {"arms": arms})
    assert split.json()["splits"] == {"production": arms}
    got = {}
    for number in range(40):
        by_query = read(user=f"u{number}").json()
        by_header = read(headers={"x-hone-user": f"u{number}"}).json()
        assert by_query == by_header == read(user=f"u{number}").json()
        assert by_query["prompt"] == f"I am {by_query['version']}"
        got[number] = by_query["version"]
        assert by_query["split"] == {
            "label": "production",
            "version": by_query["version"],
            "by": "user",
            "arms": arms,
        }
    assert set(got.values()) == {1, 2}
    assert {read(session=f"s{n}").json()["version"] for n in range(40)} == {1, 2}
    # An SDK names nobody, and gets the main version every time.
    assert {read().json()["version"] for _ in range(10)} == {1}
    assert read(version="2").json().get("split") is None


def test_new_weights_keep_who_need_not_move_and_a_reshuffle_does_not(
    read: Any, prompt: str, as_bob: Any
) -> None:
    def dealt() -> list[int]:
        return [read(user=f"u{n}").json()["version"] for n in range(60)]

    def split(one: int, two: int, **more: bool) -> None:
        arms = [{"version": 1, "weight": one}, {"version": 2, "weight": two}]
        path = f"{OURS}/greet/labels/production/split"
        assert as_bob.put(path, {"arms": arms, **more}).status_code == 200

    split(50, 50)
    before = dealt()
    split(25, 75)
    after = dealt()
    assert {pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]} <= {(1, 2)}
    split(25, 75)
    assert dealt() == after
    split(25, 75, reshuffle=True)
    assert dealt() != after


def test_a_split_ends_with_a_plain_label_and_with_its_versions(
    read: Any, prompt: str, as_bob: Any, pair: dict[str, str]
) -> None:
    arms = [{"version": 1, "weight": 1}, {"version": 2, "weight": 9}]
    path = f"{OURS}/greet/labels/production/split"
    as_bob.put(path, {"arms": arms})
    move(as_bob, 3)
    assert as_bob.get(f"{OURS}/greet").json()["splits"] == {}
    as_bob.put(path, {"arms": arms})
    gone = as_bob.delete(f"{PUBLIC}/greet?version=1", headers=pair)
    assert gone.status_code == 204, gone.content
    left = as_bob.get(f"{OURS}/greet").json()
    assert (left["labels"]["production"], left["splits"]) == (2, {})
    assert read(user="x").json()["version"] == 2


def test_a_split_of_nothing_is_refused(prompt: str, as_bob: Any, as_charlie: Any) -> None:
    path = f"{OURS}/greet/labels/production/split"
    for arms in ([], [{"version": 1, "weight": 1}], [{"version": 1, "weight": 1}] * 2):
        assert as_bob.put(path, {"arms": arms}).status_code == 400
    missing = [{"version": 1, "weight": 1}, {"version": 9, "weight": 1}]
    assert as_bob.put(path, {"arms": missing}).status_code == 404
    good = [{"version": 1, "weight": 1}, {"version": 2, "weight": 1}]
    assert as_bob.put(path.replace("production", "latest"), {"arms": good}).status_code == 400
    assert as_charlie.put(path, {"arms": good}).status_code == 404


def until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_the_message_alone_is_enough(prompt: str, project: Any, patient: ServedCache[Any]) -> None:
    """Another process is played by a plain write and the message that it would send."""

    def served() -> int:
        async def ask() -> int:
            try:
                found = await serving.prompt_serve(
                    project.pk, Reference("greet", None, "production")
                )
                return found.main
            finally:
                await broker.aclose()

        return async_to_sync(ask)()

    serving._changes.listen()
    channel = serving._changes.channel()
    assert until(lambda: broker.client().pubsub_numsub(channel)[0][1] >= 1, 10)
    assert served() == 1
    second = PromptVersion.objects.get(prompt__name="greet", number=2)
    Label.objects.filter(name="production").update(version=second)
    assert served() == 1  # nobody has told
    broker.client().publish(channel, f"{project.pk} {mark_of('greet')}")
    assert until(lambda: served() == 2, 5)


@pytest.fixture
def webs(transactional_db: None) -> Iterator[list[Web]]:
    """Two web processes on the test's database and Redis."""
    started = [Web(), Web()]
    for web in started:
        web.start()
    for web in started:
        web.until_up()
    yield started
    for web in started:
        web.kill()


class Reader(threading.Thread):
    """Reads one label from one process as fast as it can and keeps every answer with its times."""

    def __init__(self, web: Web, headers: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self.url = f"http://127.0.0.1:{web.port}{PUBLIC}/greet"
        self.headers = headers
        self.stop = threading.Event()
        self.seen: list[tuple[float, int, str]] = []  # sent at, version, text
        self.errors: list[object] = []

    def run(self) -> None:
        with httpx.Client(headers=self.headers, timeout=30) as client:
            while not self.stop.is_set():
                sent = time.monotonic()
                answer = client.get(self.url)
                if answer.status_code != 200:
                    self.errors.append(answer.text)
                    continue
                body = answer.json()
                self.seen.append((sent, body["version"], body["prompt"]))

    def ends(self) -> None:
        self.stop.set()
        self.join(30)


def overdue(seen: list[tuple[float, int, str]], moves: list[tuple[float, int]]) -> list[object]:
    """Answers of a version that the label had left more than a second before they were asked for,
    or whose text is not the version's."""
    wrong: list[object] = []
    for sent, version, text in seen:
        # (when the next move was surely done, its own version) of each position of the label
        ends = [after for (_, v), (after, _) in pairwise(moves) if v == version]
        is_now = moves[-1][1] == version
        if text != f"I am {version}" or not (is_now or any(sent - end < 1.0 for end in ends)):
            wrong.append((sent, version, text))
    return wrong


@pytest.mark.parametrize("is_told", [True, False], ids=["told", "message lost"])
def test_two_processes_show_a_move_within_a_second(
    webs: list[Web], prompt: str, as_bob: Any, pair: dict[str, str], is_told: bool
) -> None:
    """Moves through one process's address, or by a write that tells nobody."""
    rows = {v.number: v for v in PromptVersion.objects.filter(prompt__name="greet")}
    readers = [Reader(web, pair) for web in webs]
    moves = [(time.monotonic(), 1)]
    for reader in readers:
        reader.start()
    assert until(lambda: all(reader.seen for reader in readers), 30)
    for version in (2, 3, 1, 2, 3):
        if is_told:
            move(as_bob, version)
        else:
            Label.objects.filter(name="production").update(version=rows[version])
        done = time.monotonic()
        moves.append((done, version))
        assert until(lambda v=version: all(r.seen[-1][1] == v for r in readers), 5)
        time.sleep(0.3)
    for reader in readers:
        reader.ends()
        assert not reader.errors
        assert overdue(reader.seen, moves) == []
        assert {version for _, version, _ in reader.seen} == {1, 2, 3}


def answer_of(web: Web, headers: dict[str, str], name: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{web.port}{PUBLIC}/{name}"
    answer = httpx.get(url, headers=headers, timeout=30)
    text = answer.json()["prompt"] if answer.status_code == 200 else ""
    return answer.status_code, text


def test_two_processes_show_every_kind_of_change_within_a_second(
    webs: list[Web], prompt: str, as_bob: Any, pair: dict[str, str]
) -> None:
    """Made in a third process: what contains it, a rename, a split, files, a deletion."""
    outer = {"name": "outer", "type": "text", "prompt": "{{> greet}}!", "labels": ["production"]}
    assert as_bob.post(OURS, outer).status_code == 201
    first = [(200, "I am 1"), (200, "I am 1!"), (404, ""), (404, "")]

    def shown() -> list[list[tuple[int, str]]]:
        names = ("greet", "outer", "hello", "filed")
        return [[answer_of(web, pair, name) for name in names] for web in webs]

    def becomes(wanted: list[tuple[int, str]]) -> None:
        assert until(lambda: shown() == [wanted, wanted], 1.0), (shown(), wanted)

    assert until(lambda: shown() == [first, first], 30)
    move(as_bob, 2)
    becomes([(200, "I am 2"), (200, "I am 2!"), (404, ""), (404, "")])
    arms = [{"version": 3, "weight": 1}, {"version": 1, "weight": 1}]  # the first for nobody known
    assert as_bob.put(f"{OURS}/greet/labels/production/split", {"arms": arms}).status_code == 200
    becomes([(200, "I am 3"), (200, "I am 3!"), (404, ""), (404, "")])
    assert as_bob.delete(f"{OURS}/outer").status_code == 204
    becomes([(200, "I am 3"), (404, ""), (404, ""), (404, "")])
    assert as_bob.patch(f"{OURS}/greet", {"name": "hello"}).status_code == 200
    becomes([(404, ""), (404, ""), (200, "I am 3"), (404, "")])
    file = "---\nname: filed\ntype: text\nlabels: [production]\n---\nFrom a file\n"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("filed.md", file)
    path = "/api/projects/demo/prompt-files"
    pushed = as_bob.post(path, archive.getvalue(), content_type="application/zip")
    assert pushed.status_code == 200, pushed.content
    becomes([(404, ""), (404, ""), (200, "I am 3"), (200, "From a file")])
