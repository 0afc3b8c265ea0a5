"""How soon the page of a very long trace shows rows, and how smoothly it scrolls.

    PYTHONPATH=platform:inference python bench/trace_page.py [--observations 30000] [--repeat 5]

Starts the product on a new folder, sends one trace through the OTLP door, and opens it in a real
Chromium (HONE_CHROMIUM or the one of the system), signed in, each time with an empty cache.
First paint is from the start of the navigation to the frame after the one in which the first row
was there; the whole trace is there when the tree is as tall as all rows. Then the tree is
scrolled by a gesture as a wheel makes it (4,000 px/s), once while the rest of the trace comes in
and once when all is there, and the time from frame to frame is read in the page. A frame of a
screen of 60 Hz lasts 16.7 ms; one up to 17.5 ms was in time, since the page's clock is rounded.
Required: first paint <= 1 s, 60 frames/s. Prints one row a figure and writes
bench/results/trace-page.json.
"""

import argparse
import itertools
import json
import os
import secrets
import shutil
import socket
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import figures
import footprint
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = (os.environ.get("HONE_CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
PORTION = 5000
ROW_PX = 32
IN_TIME_MS = 17.5
SCROLL_PX, SCROLL_PX_S = 16_000, 4000
PATIENCE_MS = 120_000
SETTLE_S = 5
KINDS = ("generation", "tool", "retriever", "span")

WATCH = """
window.hone = {};
new MutationObserver((_, observer) => {
  if (!document.querySelector('.tree-row')) return;
  observer.disconnect();
  requestAnimationFrame(() => requestAnimationFrame((now) => { window.hone.rows = now; }));
}).observe(document, { childList: true, subtree: true });
"""
FRAMES = """
window.hone.frames = [];
window.hone.running = true;
const frame = (now) => {
  window.hone.frames.push(now);
  if (window.hone.running) requestAnimationFrame(frame);
};
requestAnimationFrame(frame);
"""


def attribute(name: str, value: str) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value}}


def spans(trace_id: str, count: int) -> Iterator[dict[str, Any]]:
    """An agent with turns of ten observations each, all with an input and an output."""
    began = time.time_ns() - 3600 * 10**9
    root, turn = secrets.token_hex(8), ""
    for number in range(count):
        span_id, at = secrets.token_hex(8), began + number * 10**7
        kind = "agent" if number == 0 else "chain" if number % 10 == 1 else KINDS[number % 4]
        span_id = root if number == 0 else span_id
        parent = "" if number == 0 else root if number % 10 == 1 else turn
        turn = span_id if number % 10 == 1 else turn
        yield {
            "traceId": trace_id,
            "spanId": span_id,
            "parentSpanId": parent,
            "name": f"{kind} {number}",
            "startTimeUnixNano": str(at),
            "endTimeUnixNano": str(at + 8 * 10**6),
            "attributes": [
                attribute("langfuse.observation.type", kind),
                attribute("input.value", f"Question {number}: " + "word " * 40),
                attribute("output.value", f"Answer {number}: " + "word " * 60),
                *([attribute("gen_ai.request.model", "gpt-4o")] if kind == "generation" else []),
            ],
        }


def send(url: str, key: str, count: int) -> str:
    """One trace through the OTLP door; its id."""
    trace_id = secrets.token_hex(16)
    made = list(spans(trace_id, count))
    for start in range(0, count, PORTION):
        portion = {"scope": {"name": "bench"}, "spans": made[start : start + PORTION]}
        body = json.dumps({"resourceSpans": [{"scopeSpans": [portion]}]}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        request = urllib.request.Request(f"{url}/v1/traces", data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert answer.status == 200, answer.status
    return trace_id


def signed_in(browser: Browser, url: str, email: str, password: str) -> Any:
    """The cookies of a session."""
    context = browser.new_context(base_url=url)
    page = context.new_page()
    page.goto("/login")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/p/**/traces")
    state = context.storage_state()
    context.close()
    return state


def scroll(page: Page, context: BrowserContext) -> list[float]:
    """The times from frame to frame in ms, while the tree is scrolled down."""
    box = page.locator(".tree").bounding_box()
    assert box is not None
    page.evaluate(FRAMES)
    gesture = {
        "x": box["x"] + box["width"] / 2,
        "y": box["y"] + box["height"] / 2,
        "yDistance": -SCROLL_PX,
        "speed": SCROLL_PX_S,
        "gestureSourceType": "mouse",
    }
    context.new_cdp_session(page).send("Input.synthesizeScrollGesture", gesture)
    stamps = page.evaluate("() => { window.hone.running = false; return window.hone.frames; }")
    return [after - before for before, after in itertools.pairwise(stamps)]


def visit(browser: Browser, state: Any, address: str, count: int) -> dict[str, Any]:
    """One opening of the trace, and two ways down through it."""
    context = browser.new_context(storage_state=state, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(address, wait_until="commit")
    page.wait_for_function("() => window.hone?.rows", timeout=PATIENCE_MS)
    rows_ms = page.evaluate("() => window.hone.rows")
    loading = scroll(page, context)
    tall = f"() => document.querySelector('.tree > div').offsetHeight === {count * ROW_PX}"
    page.wait_for_function(tall, timeout=PATIENCE_MS)
    whole_ms = page.evaluate("() => performance.now()")
    page.wait_for_timeout(500)
    whole = scroll(page, context)
    moved = page.evaluate("() => document.querySelector('.tree').scrollTop")
    assert moved > SCROLL_PX, f"the tree scrolled only {moved} px"
    context.close()
    return {"rows_ms": rows_ms, "whole_ms": whole_ms, "loading": loading, "whole": whole}


def smoothness(name: str, times: list[float]) -> dict[str, tuple[float, str]]:
    in_time = sum(ms <= IN_TIME_MS for ms in times) / len(times)
    return {
        f"frames in time, {name}": (round(100 * in_time, 1), "%"),
        f"frames a second, {name}": (round(1000 * len(times) / sum(times), 1), "1/s"),
        f"frame time p95, {name}": (round(statistics.quantiles(times, n=20)[-1], 1), "ms"),
        f"longest frame, {name}": (round(max(times), 1), "ms"),
    }


def measure(count: int, repeat: int) -> dict[str, tuple[float, str]]:
    executable = next((path for name in CHROMIUM if name and (path := shutil.which(name))), None)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="hone-trace-page-") as name, sync_playwright() as tool:
        process, _, _, _ = footprint.start(Path(name), port)
        try:
            lines = (Path(name) / "data" / "demo.env").read_text().splitlines()
            known = dict(line.split("=", 1) for line in lines if "=" in line)
            url = f"http://127.0.0.1:{port}"
            trace_id = send(url, known["HONE_SECRET_KEY"], count)
            time.sleep(SETTLE_S)
            browser = tool.chromium.launch(executable_path=executable, args=FLAGS)
            state = signed_in(browser, url, known["HONE_EMAIL"], known["HONE_PASSWORD"])
            address = f"{url}/p/demo/traces/{trace_id}"
            found = [visit(browser, state, address, count) for _ in range(repeat)]
            browser.close()
        finally:
            footprint.stop(process)
    firsts = sorted(one["rows_ms"] for one in found)
    return {
        "first paint of rows, median": (round(statistics.median(firsts), 1), "ms"),
        "first paint of rows, slowest": (round(firsts[-1], 1), "ms"),
        "whole trace there, median": (
            round(statistics.median(one["whole_ms"] for one in found), 1),
            "ms",
        ),
        **smoothness("while it comes in", [ms for one in found for ms in one["loading"]]),
        **smoothness("all there", [ms for one in found for ms in one["whole"]]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observations", type=int, default=30_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    found = measure(options.observations, options.repeat)
    for name, (value, unit) in found.items():
        print(f"{name:40} {value:10.1f} {unit}")
    figures.write("trace-page", figures.rows(found, observations=options.observations))


if __name__ == "__main__":
    main()
