"""Delivery: bounded, retried, counted, and never in the way of the host application."""

import gc
import logging
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hone.sdk as hone
from hone.sdk.delivery.courier import pause_s
from hone.sdk.delivery.outbox import Limits, Outbox
from hone.sdk.delivery.transport import Transport

PLATFORM = Path(hone.__file__).parents[2]
BUSY = (503, {"Retry-After": "0"}, b"busy")


def record(count: int, prefix: str = "x") -> None:
    for number in range(count):
        with hone.span(f"{prefix}{number}"):
            pass


def test_a_refusal_for_now_is_tried_again_and_nothing_doubles(sent: Any) -> None:
    sent.answers += [BUSY, (429, {"Retry-After": "0"}, b""), BUSY]
    record(3)
    assert sorted(span.name for span in sent.spans) == ["x0", "x1", "x2"]
    assert hone.stats() == hone.Stats(sent=3, dropped=0, refused=0, waiting=0)


def test_the_servers_wish_for_a_pause_is_granted(sent: Any) -> None:
    sent.answers.append((503, {"Retry-After": "0.4"}, b""))
    started = time.monotonic()
    record(1)
    assert sent.named("x0")
    assert time.monotonic() - started >= 0.4


def test_pauses_grow_and_have_an_end() -> None:
    longest = [max(pause_s(attempt, None) for _ in range(200)) for attempt in range(12)]
    assert longest[0] <= 0.5
    assert longest == sorted(longest) or max(longest) <= 30
    assert 15 <= pause_s(20, None) <= 30
    assert pause_s(0, 7.0) == 7.0
    assert pause_s(0, 1e9) == 300


def test_what_the_server_refuses_is_counted_and_said_once(
    sent: Any, caplog: pytest.LogCaptureFixture
) -> None:
    sent.answers += [(401, {}, b'{"message": "no such key"}')]
    record(2)
    assert hone.flush()
    record(1, "later")
    assert [span.name for span in sent.spans] == ["later0"]
    assert hone.stats() == hone.Stats(sent=1, dropped=0, refused=2, waiting=0)
    (line,) = caplog.messages
    assert "2 refused" in line
    assert "no such key" in line


def test_spans_that_the_server_leaves_out_are_counted(sent: Any) -> None:
    body = b'{"partialSuccess": {"rejectedSpans": "1", "errorMessage": "too old"}}'
    sent.answers.append((200, {}, body))
    record(3)
    assert hone.flush()
    assert hone.stats() == hone.Stats(sent=2, dropped=0, refused=1, waiting=0)


def test_a_batch_that_is_too_large_is_halved(sent: Any) -> None:
    sent.answers += [(413, {}, b""), (413, {}, b"")]
    record(4)
    assert sorted(span.name for span in sent.spans) == ["x0", "x1", "x2", "x3"]
    assert len(sent.requests) == 3, "a half, and the other half in quarters"


def test_a_full_queue_drops_the_newest_counts_and_tells(
    start: Callable[..., Any], caplog: pytest.LogCaptureFixture, wait_for: Callable[..., Any]
) -> None:
    sent = start(max_queue_spans=10, flush_interval_s=0.001)
    held, release = threading.Event(), threading.Event()

    def hold(path: str, body: Any) -> None:
        held.set()
        release.wait(20)

    sent.other = hold
    record(1, "first")
    assert held.wait(20)
    started = time.monotonic()
    record(500)
    assert time.monotonic() - started < 5, "the host never waits"
    assert hone.stats().dropped == 490
    release.set()
    sent.other = None
    assert hone.flush(20)
    record(1, "after")
    names = [span.name for span in sent.spans]
    assert sorted(names) == sorted(["first0", *(f"x{n}" for n in range(10)), "after0"])
    assert sent.named("after0").resource["hone.sdk.dropped_spans"] == 490
    wait_for(lambda: any("490 dropped" in line for line in caplog.messages))


def test_bytes_that_wait_are_bounded(start: Callable[..., Any]) -> None:
    sent = start(max_queue_bytes=1_000_000)
    sent.answers += [(503, {"Retry-After": "30"}, b"")]
    for _ in range(100):
        with hone.span("large", input="x" * 100_000):
            pass
    figures = hone.stats()
    assert figures.waiting <= 10
    assert figures.dropped >= 90


def test_a_server_that_is_away_costs_no_time_and_is_caught_up_with(
    collector: Any, start: Callable[..., Any], wait_for: Callable[..., Any]
) -> None:
    port = int(collector.url.rsplit(":", 1)[1])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{taken.getsockname()[1]}"
    assert hone.init(gone, secret_key="x", set_global=False, exit_timeout_s=0.3)
    started = time.monotonic()
    record(1000)
    assert time.monotonic() - started < 5
    assert not hone.flush(0.05)
    assert hone.stats().waiting == 1000
    started = time.monotonic()
    hone.shutdown()
    assert time.monotonic() - started < 2, "the end of the process waits only as long as allowed"
    assert port


def test_many_threads_lose_nothing(sent: Any) -> None:
    threads = [threading.Thread(target=record, args=(200, f"t{n}-")) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [span.name for span in sent.spans]
    assert len(names) == len(set(names)) == 1600


def test_a_kept_connection_that_the_server_closed_is_made_anew(collector: Any) -> None:
    transport = Transport(collector.url, "Bearer x", 5)
    assert transport.ask("POST", "/v1/traces", b"{}").status == 200
    kept = transport._connection
    assert kept is not None
    assert kept.sock is not None
    kept.sock.shutdown(socket.SHUT_RDWR)
    assert transport.ask("POST", "/v1/traces", b"{}").status == 200
    assert transport._connection is not kept
    transport.close()


def test_the_proxy_of_the_environment_is_used(
    collector: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", collector.url)
    monkeypatch.setenv("no_proxy", "")
    collector.prompts["http://hone.invalid/x"] = (200, {"through": "proxy"})
    transport = Transport("http://hone.invalid", "Bearer x", 5)
    assert transport.ask("GET", "/x").json() == {"through": "proxy"}
    transport.close()


def test_a_garbage_collection_inside_of_put_does_no_harm() -> None:
    box = Outbox(Limits(10_000, 10**9), on_first=lambda: None)

    class Cycle:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            box.put("from the collector", 1)

    done = threading.Event()

    def fill() -> None:
        gc.set_threshold(1, 1, 1)
        for _ in range(500):
            Cycle()
            box.put("from the program", 1)
        done.set()

    before = gc.get_threshold()
    try:
        threading.Thread(target=fill, daemon=True).start()
        assert done.wait(20), "deadlock"
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(box) == 1000


def run(source: str, url: str) -> Iterator[str]:
    """Run a program of its own to its end; its output."""
    environment = {**os.environ, "PYTHONPATH": str(PLATFORM), "HONE_URL": url}
    environment["HONE_SECRET_KEY"] = "sk"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return iter(done.stdout.splitlines())


def test_the_end_of_the_process_sends_what_waits(collector: Any) -> None:
    source = """
        import hone.sdk as hone
        hone.init(flush_interval_s=60)
        with hone.span("late"):
            pass
    """
    run(source, collector.url)
    assert collector.named("late")


def test_the_end_waits_no_longer_than_allowed_for_a_server_that_is_away() -> None:
    source = """
        import time, atexit
        begun = []
        atexit.register(lambda: print(time.monotonic() - begun[0]))
        import logging; logging.getLogger("hone.sdk").addHandler(logging.NullHandler())
        import hone.sdk as hone
        hone.init("http://127.0.0.1:9", exit_timeout_s=0.5)
        with hone.span("lost"):
            pass
        begun.append(time.monotonic())
    """
    (took,) = run(source, "")
    assert float(took) < 5


FORKS = {
    "os.fork": """
        pid = os.fork()
        if pid == 0:
            work("child")
            hone.flush(20)
            os._exit(0)
        os.waitpid(pid, 0)
    """,
    "multiprocessing": """
        import multiprocessing
        process = multiprocessing.get_context("fork").Process(target=work, args=("child",))
        process.start()
        process.join()
    """,
    "prefork server": """
        children = []
        for number in range(2):
            pid = os.fork()
            if pid == 0:
                work(f"child{number}")
                sys.exit(0)  # as a gunicorn worker does
            children.append(pid)
        for pid in children:
            os.waitpid(pid, 0)
    """,
}


@pytest.mark.parametrize("fork", FORKS.values(), ids=FORKS.keys())
def test_a_forked_child_sends_its_own_and_nothing_twice(collector: Any, fork: str) -> None:
    source = """
        import os, sys, threading, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        import hone.sdk as hone
        hone.init(flush_interval_s=0.3)
        def work(name):
            with hone.span(name):
                pass
        work("before")
    """
    source = textwrap.dedent(source) + textwrap.dedent(fork) + '\nwork("after")\n'
    run(source, collector.url)
    names = sorted(span.name for span in collector.spans)
    children = ["child0", "child1"] if "children" in fork else ["child"]
    assert names == sorted(["before", "after", *children])
    assert len({span.trace_id for span in collector.spans}) == len(names), "ids are not repeated"


def test_a_fork_in_the_middle_of_threads_that_record_does_not_hang(collector: Any) -> None:
    source = """
        import os, threading, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        import hone.sdk as hone
        hone.init(flush_interval_s=0.001)
        stop = threading.Event()
        def load():
            while not stop.is_set():
                with hone.span("load"):
                    stop.wait(0.001)
        threads = [threading.Thread(target=load, daemon=True) for _ in range(4)]
        for thread in threads: thread.start()
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                with hone.span("child"):
                    pass
                os._exit(0 if hone.flush(20) else 1)
            assert os.waitpid(pid, 0)[1] == 0
        stop.set()
        for thread in threads: thread.join()
        print(hone.flush(20), hone.stats().dropped)
    """
    (said,) = run(source, collector.url)
    assert said == "True 0"
    assert sum(span.name == "child" for span in collector.spans) == 20


def test_the_sending_thread_survives_what_it_did_not_expect(
    sent: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def explode(self: Transport, *args: object) -> None:
        raise MemoryError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr(Transport, "ask", explode)
        record(1, "lost")
        assert hone.flush(20)
    record(1, "kept")
    assert [span.name for span in sent.spans] == ["kept0"]
    assert any(r.levelno == logging.ERROR for r in caplog.records)


def test_other_instrumentations_join_also_after_a_second_init(collector: Any) -> None:
    source = """
        import hone.sdk as hone
        from opentelemetry import trace
        for name in ("first", "second"):
            hone.init(service=name)
            with trace.get_tracer("another.library").start_as_current_span(f"theirs {name}"):
                with hone.span(f"ours {name}"):
                    pass
            hone.flush()
        print(hone.stats().dropped)
    """
    (dropped,) = run(source, collector.url)
    assert dropped == "0"
    for name in ("first", "second"):
        assert collector.named(f"ours {name}").parent_id == collector.named(f"theirs {name}").id
