"""kill -9 of anything in the middle of anything: an error and not a hang, and nothing lost."""

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]
Until = Callable[..., Any]
NUM_ITEMS = 200
LONG = [{"role": "user", "content": "Tell a very long story about the sea and its ships."}]


@pytest.fixture(scope="module")
def server(hone_start_module: Callable[..., Any]) -> Any:
    """One product for this file: its parts are killed one after the other."""
    return hone_start_module("--demo", HONE_RUN_LEASE_S="6").seeded()


def kill(server: Any, name: str) -> int:
    pid = int(server.child_pid(name))
    os.kill(pid, signal.SIGKILL)
    return pid


def wait_for_engine(server: Any, wait_until: Until) -> None:
    def answers() -> bool:
        status, body = server.post(
            "/v1/chat/completions",
            {"model": server.model, "messages": LONG, "max_tokens": 1},
        )
        return bool(status == 200 and body["choices"])

    wait_until(answers, "an engine that answers")


class Stream(threading.Thread):
    """A client that reads a long answer: `started` at its first word, then `ended` somehow."""

    def __init__(self, server: Any) -> None:
        super().__init__(daemon=True)
        self._server = server
        self.started = threading.Event()
        self.problem: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            with self._server.openai(timeout=60) as client:
                for chunk in client.chat.completions.create(
                    model=self._server.model, messages=LONG, max_tokens=1500, stream=True
                ):
                    if chunk.choices[0].delta.content:
                        self.started.set()
        except (openai.APIError, httpx.HTTPError) as error:
            self.problem = error
        finally:
            self.started.set()


@pytest.mark.parametrize("name", ["gpu", "web"])
def test_a_killed_part_comes_back_and_its_streams_end_with_an_error(
    server: Any, wait_until: Until, name: str
) -> None:
    wait_for_engine(server, wait_until)
    streams = [Stream(server) for _ in range(3)]
    for stream in streams:
        assert stream.started.wait(60)
        assert stream.problem is None
    killed = kill(server, name)
    for stream in streams:
        stream.join(30)
        assert not stream.is_alive(), "the client hangs"
        assert isinstance(stream.problem, openai.APIError | httpx.HTTPError)
    wait_until(lambda: server.child_pid(name) != killed, f"a new {name}")
    wait_for_engine(server, wait_until)
    assert f"{name} was killed by SIGKILL; starting it again" in server.said


def test_the_trace_of_an_answer_that_broke_off_is_kept(server: Any, wait_until: Until) -> None:
    wait_for_engine(server, wait_until)
    stream = Stream(server)
    assert stream.started.wait(60)
    kill(server, "gpu")
    stream.join(30)

    def newest() -> dict[str, Any]:
        _, traces = server.get("/api/projects/demo/traces?limit=5")
        found: dict[str, Any] = traces["data"][0]
        return found

    wait_until(lambda: newest()["error_count"] > 0, "the trace, kept after the stream ends")
    assert newest()["output_preview"]


@pytest.mark.parametrize("name", ["worker", "valkey", "postgres"])
def test_a_killed_store_or_worker_comes_back(server: Any, wait_until: Until, name: str) -> None:
    if name in ("valkey", "postgres") and server.environment.keys() & {"DATABASE_URL", "REDIS_URL"}:
        pytest.skip("the stores are not ours to kill")
    killed = kill(server, name)
    wait_until(lambda: server.child_pid(name) != killed, f"a new {name}")
    wait_until(lambda: server.get("/health")[0] == 200, "health")
    wait_for_engine(server, wait_until)


def test_a_trace_that_was_accepted_is_there_after_everything_is_killed(
    server: Any, wait_until: Until
) -> None:
    wait_for_engine(server, wait_until)
    ids = []
    with server.openai() as client:
        for _ in range(5):
            raw = client.chat.completions.with_raw_response.create(
                model=server.model, messages=LONG, max_tokens=2
            )
            ids.append(raw.headers["x-hone-trace-id"])
    names = ["web", "worker", "gpu"]
    if "DATABASE_URL" not in server.environment:
        names.append("postgres")
    for name in names:
        kill(server, name)
    wait_until(lambda: server.get("/health")[0] == 200, "health")
    for trace_id in ids:
        assert server.get(f"/api/projects/demo/traces/{trace_id}")[0] == 200


def items_of(server: Any, run: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor = ""
    while cursor is not None:
        path = f"/api/projects/demo/runs/{run}/items?limit=200"
        _, page = server.get(path + (f"&cursor={cursor}" if cursor else ""))
        items += page["data"]
        cursor = page["next_cursor"]
    return items


def test_a_batch_whose_worker_is_killed_twice_loses_and_doubles_nothing(
    server: Any, wait_until: Until
) -> None:
    wait_for_engine(server, wait_until)
    status, run = server.post(
        "/api/projects/demo/runs",
        {
            "prompt": {"name": "summarize", "label": "production"},
            "model": server.model,
            "parameters": {"max_tokens": 12, "temperature": 0},
            "inputs": [
                {"text": f"The number {number} stands here."} for number in range(NUM_ITEMS)
            ],
        },
    )
    assert status == 202, run
    path = f"/api/projects/demo/runs/{run['id']}"
    for part in (NUM_ITEMS // 5, NUM_ITEMS // 2):
        wait_until(lambda part=part: server.get(path)[1]["done"] >= part, f"{part} answers")
        kill(server, "gpu")
    wait_until(lambda: server.get(path)[1]["state"] not in ("queued", "running"), "the run's end")
    ended = server.get(path)[1]
    assert (ended["state"], ended["done"], ended["failed"]) == ("done", NUM_ITEMS, 0)
    items = items_of(server, run["id"])
    assert [item["index"] for item in items] == list(range(NUM_ITEMS))
    assert all(item["state"] == "done" and item["output"] for item in items)
    assert max(item["attempt"] for item in items) in (2, 3)
    ids = {item["trace_id"] for item in items}
    assert len(ids) == NUM_ITEMS
    for item in items[:: NUM_ITEMS // 20]:
        _, trace = server.get(f"/api/projects/demo/traces/{item['trace_id']}")
        names = [row["name"] for row in trace["observations"]]
        assert sorted(names) == ["batch item", "decode", "generation", "prefill", "queue"]
    assert sum(count_traces(server, ids)) == NUM_ITEMS


def count_traces(server: Any, ids: set[str]) -> list[int]:
    """One for each trace of the project that is in `ids`, page by page."""
    found: list[int] = []
    cursor = ""
    while cursor is not None:
        path = "/api/projects/demo/traces?limit=200&tag=run"
        _, page = server.get(path + (f"&cursor={cursor}" if cursor else ""))
        found += [1 for row in page["data"] if row["id"] in ids]
        cursor = page["next_cursor"]
    return found


def test_a_canceled_run_stops_soon(server: Any, wait_until: Until) -> None:
    wait_for_engine(server, wait_until)
    _, run = server.post(
        "/api/projects/demo/runs",
        {
            "prompt": {"name": "summarize", "label": "production"},
            "model": server.model,
            "parameters": {"max_tokens": 200},
            "inputs": [{"text": f"Text {number}."} for number in range(100)],
        },
    )
    path = f"/api/projects/demo/runs/{run['id']}"
    wait_until(lambda: server.get(path)[1]["state"] == "running", "a start")
    assert server.post(f"{path}/cancel")[1]["state"] == "canceled"

    def idle() -> bool:
        engine = server.get("/api/projects/demo/engine")[1]
        return engine["running"] == 0 and engine["waiting"] == 0

    wait_until(idle, "an idle engine", patience_s=30)
    assert all(item["state"] in ("done", "canceled") for item in items_of(server, run["id"]))
