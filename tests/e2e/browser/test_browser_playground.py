"""Trying a prompt: edit, run, watch it stream, go to its trace."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

Ask = Callable[..., str]
Shoot = Callable[[Page, str], None]
Visit = Callable[[str], None]


def test_a_prompt_is_edited_run_and_traced(
    page: Page, hone_server: Any, shoot: Shoot, visit: Visit
) -> None:
    visit("prompts")
    expect(page.get_by_role("link", name="summarize", exact=True)).to_be_visible()
    visit("playground?prompt=summarize")
    messages = page.get_by_label(re.compile(r"^Text of message"))
    expect(messages.first).to_be_visible()
    messages.last.fill("Tell me about {{thing}} in one short sentence.")
    expect(page.get_by_text("edited")).to_be_visible()
    page.get_by_role("button", name="Parameters").click()
    page.get_by_label("max tokens").fill("48")  # a small model would go on for minutes
    page.get_by_label("thing").fill("the sea")
    page.keyboard.press("Control+Enter")

    answer = page.get_by_role("article").first
    expect(answer).to_have_attribute("data-state", re.compile("streaming|done"))
    shoot(page, "playground-streaming")
    expect(answer).to_have_attribute("data-state", "done", timeout=60_000)
    expect(answer.locator(".answer-figures")).to_contain_text(
        re.compile(r"\d tok/s.*First token.*\d (ms|s).*\d tok", re.S)
    )
    assert answer.locator(".answer-text").inner_text().strip()
    shoot(page, "playground")

    answer.get_by_role("link", name="Trace").click()
    expect(page).to_have_url(re.compile(r"/traces/[0-9a-f]{32}"))
    expect(page.get_by_role("region", name="user message").first).to_contain_text(
        "Tell me about the sea in one short sentence."
    )
    expect(
        page.get_by_role("tree").get_by_role("treeitem").filter(has_text="decode")
    ).to_be_visible()


def test_an_unchanged_prompt_names_itself_in_its_trace(
    page: Page, hone_server: Any, visit: Visit, shoot: Shoot
) -> None:
    path = f"/api/projects/{hone_server.project}/prompts"
    name = "browser/named"
    hone_server.post(
        path,
        {
            "name": name,
            "type": "chat",
            "prompt": [{"role": "user", "content": "Say {{what}}."}],
            "config": {"max_tokens": 8},
            "labels": [],
            "tags": [],
            "message": "first",
        },
    )
    visit(f"playground?prompt={name}")
    page.get_by_label("what").fill("hello")
    page.get_by_role("button", name="Run").click()
    answer = page.get_by_role("article").first
    expect(answer).to_have_attribute("data-state", "done", timeout=60_000)
    answer.get_by_role("link", name="Trace").click()
    expect(page.get_by_role("link", name=f"{name} v1")).to_be_visible()

    page.get_by_role("button", name="Open in playground").click()
    expect(page.get_by_label("Text of message 1")).to_have_value("Say {{what}}.")
    expect(page.get_by_label("what", exact=True)).to_have_value("hello")
    expect(page.get_by_label("Prompt", exact=True)).to_have_value(name)
    visit("playground")
    visit(f"playground?prompt={name}&version=1")
    page.get_by_label("what", exact=True).fill("bye")
    traces = page.get_by_label("Fill from a trace")
    traces.select_option(index=1)
    expect(page.get_by_label("what", exact=True)).to_have_value("hello")
    shoot(page, "playground-from-trace")


def test_a_long_answer_can_be_stopped_and_is_kept(page: Page, visit: Visit) -> None:
    visit("playground")
    page.get_by_label("Text of message 2").fill(
        "Write a very long story about a lighthouse keeper."
    )
    page.get_by_role("button", name="Parameters").click()
    limit = page.get_by_label("max tokens")
    expect(limit).to_have_attribute("placeholder", "1024")
    expect(page.get_by_text("Longest answer; 1,024 by default")).to_be_visible()
    limit.fill("2000")
    page.keyboard.press("Control+Enter")
    answer = page.get_by_role("article").first
    expect(answer).to_have_attribute("data-state", "streaming")
    page.get_by_role("button", name="Stop").click()
    expect(answer).to_have_attribute("data-state", "stopped")
    assert answer.locator(".answer-text").inner_text().strip()
    expect(page.get_by_role("button", name="Run")).to_be_enabled()


def test_a_refused_parameter_says_which(page: Page, visit: Visit) -> None:
    visit("playground")
    page.get_by_label("Text of message 2").fill("Hi")
    page.get_by_role("button", name="Parameters").click()
    page.get_by_label("top p").fill("7")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert").first).to_contain_text("top_p")


def test_what_was_typed_survives_a_reload(page: Page, visit: Visit) -> None:
    visit("playground")
    page.get_by_label("Text of message 2").fill("Half a thought")
    page.reload()
    expect(page.get_by_label("Text of message 2")).to_have_value("Half a thought")


def test_a_run_waits_for_its_variables(page: Page, visit: Visit) -> None:
    visit("playground")
    page.get_by_label("Text of message 2").fill("About {{topic}}")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status")).to_contain_text("Give topic a value first")
    expect(page.get_by_label("topic")).to_be_focused()
    assert page.get_by_role("article").count() == 0


def test_a_draft_becomes_a_prompt_and_then_its_next_version(page: Page, visit: Visit) -> None:
    visit("playground")
    page.get_by_label("Text of message 2").fill("Greet {{who}}")
    for version, text in ((1, None), (2, "Greet {{who}} warmly")):
        if text:
            page.get_by_label("Text of message 2").fill(text)
        page.get_by_role("button", name="Save", exact=True).first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("browser/saved")
        dialog.get_by_label("What changed").fill(f"number {version}")
        dialog.get_by_role("button", name="Save").click()
        expect(page).to_have_url(re.compile(rf"version={version}$"))
        expect(page.get_by_label("Version", exact=True)).to_contain_text(f"v{version}")


def test_a_trace_opens_in_the_playground(
    page: Page, hone_server: Any, visit: Visit, ask: Ask
) -> None:
    visit(f"traces/{ask('One word for cold?', temperature=0.2)}")
    page.get_by_role("button", name="Open in playground").click()
    expect(page.get_by_label("Text of message 1")).to_have_value("One word for cold?")
    page.get_by_role("button", name="Parameters").click()
    expect(page.get_by_label("temperature")).to_have_value("0.2")


def test_two_columns_answer_side_by_side(page: Page, visit: Visit, shoot: Shoot) -> None:
    visit("playground")
    page.get_by_label("Text of message 2").fill("Name a bird.")
    page.locator("h1").click()
    page.keyboard.press("c")
    columns = page.get_by_role("region", name=re.compile(r"^Column \d$"))
    expect(columns).to_have_count(2)
    for column, limit in ((columns.nth(0), "24"), (columns.nth(1), "3")):
        column.get_by_role("button", name="Parameters").click()
        column.get_by_label("max tokens").fill(limit)
    page.keyboard.press("Control+Enter")
    for column in (columns.nth(0), columns.nth(1)):
        answer = column.get_by_role("article").first
        expect(answer).to_have_attribute("data-state", "done", timeout=60_000)
    expect(columns.nth(1).get_by_role("article")).to_contain_text("cut at the limit")
    shoot(page, "playground-columns")
    columns.nth(1).get_by_role("button", name="Run with 6").click()
    expect(columns.nth(1).get_by_label("max tokens")).to_have_value("6")
    expect(columns.nth(1).get_by_role("article")).to_have_count(2)
    longer = columns.nth(1).get_by_role("article").first
    expect(longer).to_have_attribute("data-state", "done", timeout=60_000)
    expect(columns.nth(0).get_by_role("article")).to_have_count(1)
    columns.nth(1).get_by_role("button", name="Remove this column").click()
    expect(columns).to_have_count(1)
    expect(columns.nth(0).get_by_role("article")).to_have_count(1)


class Model(BaseHTTPRequestHandler):
    """A model server that calls a tool where it has one, and answers JSON where that is asked."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.give("application/json", json.dumps({"data": [{"id": "gpt-4o-mini"}]}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        called = {"index": 0, "id": "call_1", "function": {"name": "weather", "arguments": ""}}
        more = [{"index": 0, "function": {"arguments": t}} for t in ('{"city": ', '"Paris"}')]
        if body.get("tools"):
            deltas = [{"tool_calls": [piece]} for piece in (called, *more)]
        elif body.get("response_format"):
            deltas = [{"content": '{"city": '}, {"content": "7}"}]
        else:
            deltas = [{"content": f"Said {body['messages'][-1]['content']}"}]
        chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        usage = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        chunks.append({"choices": [], "usage": usage})
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        self.give("text/event-stream", "".join([*lines, "data: [DONE]\n\n"]))

    def give(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture
def remote(page: Page, hone_server: Any) -> Iterator[str]:
    """The model of a connection that answers as the test wants it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.goto(f"/p/{hone_server.project}/settings/connections")
        page.get_by_role("button", name="New connection").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("Scripted")
        dialog.get_by_label("Base URL").fill(f"http://127.0.0.1:{server.server_port}/v1")
        dialog.get_by_label("Models").fill("gpt-4o-mini")
        dialog.get_by_role("button", name="Add and test").click()
        expect(page.get_by_role("listitem", name="Scripted")).to_contain_text("It answers")
        yield "gpt-4o-mini"
        page.goto(f"/p/{hone_server.project}/settings/connections")
        page.get_by_role("button", name="Delete Scripted").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete connection").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        server.shutdown()


def test_tools_and_schemas_are_shown_as_such(
    page: Page, visit: Visit, shoot: Shoot, remote: str, axe: Callable[[Page], list[str]]
) -> None:
    visit("playground")
    page.get_by_label("Model").select_option(remote)
    page.get_by_label("Text of message 2").fill("How warm is it?")
    page.locator("summary", has_text="Answer format").click()
    schema = page.get_by_label("Schema or response format as JSON")
    schema.fill("{")
    page.get_by_role("button", name="Run").click()
    expect(schema).to_be_focused()
    expect(page.get_by_role("alert").first).to_contain_text("Not valid JSON")
    schema.fill('{"type": "object", "properties": {"city": {"type": "string"}}}')
    page.keyboard.press("Control+Enter")
    answer = page.get_by_role("article").first
    expect(answer).to_contain_text("Does not fit the schema: 1 problem")
    expect(answer).to_contain_text("$.city: is number, not string")
    expect(answer.locator(".json")).to_contain_text("city: 7")
    expect(answer.locator(".answer-figures")).to_contain_text(re.compile(r"Cost\$0\.000450?"))
    page.locator("summary", has_text="Tools").click()
    page.get_by_label("Tools as JSON").fill(
        '[{"type": "function", "function": {"name": "weather"}}]'
    )
    page.keyboard.press("Control+Enter")
    call = page.get_by_role("region", name="Call of weather")
    expect(call).to_contain_text("city: Paris")
    shoot(page, "playground-structured")
    assert axe(page) == []
    page.get_by_role("article").first.get_by_role("button", name="Add to a dataset").click()
    expect(page.get_by_role("dialog").get_by_label("Input")).to_have_value(re.compile("How warm"))


def test_rows_fill_variables_answers_are_diffed_and_shared(
    open_page: Callable[..., Page], hone_server: Any, remote: str, shoot: Shoot
) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    path = f"/api/projects/{hone_server.project}/datasets"
    dataset = hone_server.post(path, {"name": "playground rows"})[1]["id"]
    for animal in ("wren", "otter"):
        hone_server.post(f"{path}/{dataset}/items", {"input": {"animal": animal}})
    page.goto(f"/p/{hone_server.project}/playground")
    page.get_by_label("Text of message 2").fill("{{animal}}, please")
    page.get_by_label("Fill from a dataset").select_option(label="playground rows")
    expect(page.get_by_label("animal", exact=True)).to_have_value(re.compile("wren|otter"))
    before = page.get_by_label("animal", exact=True).input_value()
    page.get_by_role("button", name="Next row").click()
    expect(page.get_by_label("animal", exact=True)).not_to_have_value(before)
    page.get_by_role("button", name="Compare").click()
    columns = page.get_by_role("region", name=re.compile(r"^Column \d$"))
    columns.nth(0).get_by_role("button", name="Parameters").click()
    columns.nth(0).get_by_label("max tokens").fill("12")
    columns.nth(1).get_by_label("Model").select_option(remote)
    page.keyboard.press("Control+Enter")
    for number in (0, 1):
        answer = columns.nth(number).get_by_role("article").first
        expect(answer).to_have_attribute("data-state", "done", timeout=60_000)
    page.locator("h1").click()
    page.keyboard.press("x")
    expect(page).to_have_url(re.compile("diff=1"))
    expect(columns.nth(1).locator("ins").first).to_be_visible()
    shoot(page, "playground-diff")
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("status")).to_contain_text("Link copied")
    other = open_page()
    other.goto(page.evaluate("navigator.clipboard.readText()"))
    expect(other.get_by_label("Text of message 2")).to_have_value("{{animal}}, please")
    expect(other.get_by_label("animal", exact=True)).not_to_have_value(before)
    expect(other.get_by_role("region", name=re.compile(r"^Column \d$"))).to_have_count(2)
