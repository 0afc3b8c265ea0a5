"""The traces page and a trace, as the demo fills them."""

import re
import secrets
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

Ask = Callable[..., str]
Shoot = Callable[[Page, str], None]
Visit = Callable[[str], None]


def rows(page: Page) -> Any:
    return page.locator('.tt-trace[role="row"]')


def post_spans(
    hone_server: Any, name: str, *, count: int, in_one: bool = False, ago_s: int = 3600
) -> str:
    """Sends spans through the OTLP door, each its own trace or all in one; gives a trace id."""
    now = time.time_ns() - ago_s * 10**9
    trace_id = secrets.token_hex(16)
    root = secrets.token_hex(8)
    spans = [
        {
            "traceId": trace_id if in_one else secrets.token_hex(16),
            "spanId": secrets.token_hex(8) if number or not in_one else root,
            "parentSpanId": root if in_one and number else "",
            "name": f"{name} {number}",
            "startTimeUnixNano": str(now + number * 10**6),
            "endTimeUnixNano": str(now + number * 10**6 + 5 * 10**6),
        }
        for number in range(count)
    ]
    scope = {"scope": {"name": "test"}, "spans": spans}
    resource = {"resource": {"attributes": []}, "scopeSpans": [scope]}
    assert hone_server.post("/v1/traces", {"resourceSpans": [resource]})[0] == 200
    return trace_id


def test_the_demo_shows_traces_that_were_really_made(
    page: Page, hone_server: Any, shoot: Shoot
) -> None:
    page.goto("/")
    expect(page).to_have_url(re.compile(rf"/p/{hone_server.project}/traces$"))
    expect(rows(page).first).to_be_visible()
    first = rows(page).filter(has_text=hone_server.model).first
    expect(first).to_be_visible()
    expect(first.locator(".tt-latency")).to_have_text(re.compile(r"\d (ms|s)"))
    expect(first.locator(".tt-cost")).to_have_text("$0")
    shoot(page, "traces")


def test_an_openai_call_appears_without_reloading(
    page: Page, hone_server: Any, shoot: Shoot, visit: Visit
) -> None:
    visit("traces")
    expect(page.locator('.live[data-state="open"]').first).to_be_visible()
    expect(rows(page).first).to_be_visible()
    question = "Name one color of the rainbow, number 7141."
    with hone_server.openai() as client:
        stream = client.chat.completions.create(
            model=hone_server.model,
            messages=[{"role": "user", "content": question}],
            max_tokens=12,
            stream=True,
        )
        assert list(stream)
    expect(rows(page).first.locator(".tt-input")).to_contain_text("number 7141")
    shoot(page, "traces-live")


def test_a_trace_shows_what_happened(
    page: Page, hone_server: Any, shoot: Shoot, visit: Visit, ask: Ask
) -> None:
    trace_id = ask("What is water?", system="Be brief.", max_tokens=16, temperature=0.3)
    visit(f"traces/{trace_id}")
    tree = page.get_by_role("tree")
    for name in ("chat completion", "queue", "prefill", "decode"):
        expect(tree.get_by_role("treeitem").filter(has_text=name).first).to_be_visible()
    view = page.locator(".observation")
    expect(view.get_by_role("region", name="system message")).to_contain_text("Be brief.")
    expect(view.get_by_role("region", name="user message")).to_contain_text("What is water?")
    expect(view.get_by_role("region", name="assistant message")).to_be_visible()
    figures = view.locator(".figures")
    expect(figures).to_contain_text(
        re.compile(r"Latency.*\d (ms|s).*First token.*\d (ms|s).*Speed.*tok/s.*Cost\$0", re.S)
    )
    expect(view.get_by_label("Engine timeline")).to_contain_text("decode")
    shoot(page, "trace")
    view.get_by_role("tab", name="Details").click()
    expect(page).to_have_url(re.compile(r"view=details"))
    expect(view).to_contain_text("temperature")
    view.get_by_role("tab", name="JSON").click()
    expect(view.locator(".json").first).to_contain_text("What is water?")


def test_filters_are_in_the_address_and_back_works(page: Page, visit: Visit) -> None:
    visit("traces")
    expect(rows(page).first).to_be_visible()
    page.get_by_label("Search traces").fill("model:nobody-has-this")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"model=nobody-has-this"))
    expect(page.get_by_role("heading", name="No trace fits these filters")).to_be_visible()
    page.go_back()
    expect(rows(page).first).to_be_visible()
    page.get_by_label("Time range").select_option("1h")
    expect(page).to_have_url(re.compile(r"range=1h"))


def test_markup_in_a_prompt_stays_text(
    page: Page, hone_server: Any, visit: Visit, ask: Ask
) -> None:
    hostile = '<img src=x onerror="document.title=1"> <b>bold</b> [x](javascript:alert(1))'
    visit(f"traces/{ask(hostile)}")
    message = page.get_by_role("region", name="user message")
    expect(message).to_contain_text("<b>bold</b>")
    assert message.locator("img, b, a").count() == 0


def test_an_unknown_trace_is_told(page: Page, visit: Visit) -> None:
    visit(f"traces/{'0' * 32}")
    expect(page.get_by_role("alert")).to_contain_text("There is no such trace")


def test_new_rows_wait_for_a_reader_who_scrolled_away(
    page: Page, hone_server: Any, visit: Visit, ask: Ask, shoot: Shoot
) -> None:
    post_spans(hone_server, "filler", count=120, ago_s=1)  # above all that other tests left
    visit("traces")
    expect(page.locator('.live[data-state="open"]').first).to_be_visible()
    expect(rows(page).nth(20)).to_be_visible()
    page.get_by_role("grid", name="Traces").evaluate("grid => grid.scrollTo({ top: 1600 })")
    read = page.get_by_role("link", name="filler 70", exact=True)
    expect(read).to_be_visible()
    before = read.bounding_box()
    ask("Does this wait, number 5521?")
    button = page.get_by_role("button", name=re.compile(r"\d+ new"))
    expect(button).to_be_visible()
    assert read.bounding_box() == before
    shoot(page, "traces-waiting")
    button.click()
    expect(rows(page).first.locator(".tt-input")).to_contain_text("number 5521")
    expect(button).to_have_count(0)


def test_a_deleted_trace_leaves_the_list_by_itself(
    page: Page, hone_server: Any, visit: Visit, ask: Ask, open_page: Callable[..., Page]
) -> None:
    trace_id = ask("Gone soon, number 8812.")
    visit("traces")
    row = rows(page).filter(has_text="number 8812")
    expect(row).to_be_visible()
    expect(page.locator('.live[data-state="open"]').first).to_be_visible()
    other = open_page()
    other.goto(f"/p/{hone_server.project}/traces/{trace_id}")
    other.get_by_role("button", name="Actions").click()
    other.get_by_role("menuitem", name="Delete trace").click()
    other.get_by_role("dialog").get_by_role("button", name="Delete trace").click()
    expect(row).to_have_count(0)


def test_a_trace_is_deleted_only_when_confirmed(
    page: Page, hone_server: Any, visit: Visit, ask: Ask
) -> None:
    trace_id = ask("Delete me.")
    visit(f"traces/{trace_id}")
    for answer in ("Cancel", "Delete trace"):
        page.get_by_role("button", name="Actions").click()
        page.get_by_role("menuitem", name="Delete trace").click()
        page.get_by_role("dialog").get_by_role("button", name=answer).click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        if answer == "Cancel":
            assert hone_server.get(f"/api/projects/demo/traces/{trace_id}")[0] == 200
    expect(page).to_have_url(re.compile(r"/traces$"))
    assert hone_server.get(f"/api/projects/demo/traces/{trace_id}")[0] == 404


def test_a_long_trace_is_shown_whole_and_folds(
    page: Page, hone_server: Any, visit: Visit, shoot: Shoot
) -> None:
    trace_id = post_spans(hone_server, "deep", count=1500, in_one=True)
    visit(f"traces/{trace_id}")
    tree = page.get_by_role("tree")
    expect(tree.get_by_role("treeitem").first).to_contain_text("deep 0")
    tree.press("ArrowUp")
    tree.get_by_role("treeitem").first.click()
    page.keyboard.press("ArrowLeft")
    expect(tree.get_by_role("treeitem")).to_have_count(1)
    expect(tree.get_by_role("treeitem").first).to_contain_text("1499")
    page.keyboard.press("ArrowRight")
    expect(tree.get_by_role("treeitem").nth(5)).to_be_visible()
    shoot(page, "trace-long")


def post_agent(hone_server: Any, turns: int) -> str:
    """An agent that asks a model and a tool in turns; gives the trace's id."""
    now = time.time_ns() - 60 * 10**9
    trace_id, root = secrets.token_hex(16), secrets.token_hex(8)

    def span(name: str, kind: str, at_ms: int, ms: int, **texts: str) -> dict[str, Any]:
        told = {"langfuse.observation.type": kind, **texts}
        return {
            "traceId": trace_id,
            "spanId": root if kind == "agent" else secrets.token_hex(8),
            "parentSpanId": "" if kind == "agent" else root,
            "name": name,
            "startTimeUnixNano": str(now + at_ms * 10**6),
            "endTimeUnixNano": str(now + (at_ms + ms) * 10**6),
            "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in told.items()],
        }

    said = {"gen_ai.request.model": "gpt-4o", "input.value": "How warm is it?"}
    spans = [span("guide", "agent", 0, 100 * turns)]
    for number in range(turns):
        spans.append(span("think", "generation", 100 * number + 1, 40, **said))
        spans.append(span("weather", "tool", 100 * number + 50, 30))
    resource = {"scopeSpans": [{"scope": {"name": "test"}, "spans": spans}]}
    assert hone_server.post("/v1/traces", {"resourceSpans": [resource]})[0] == 200
    return trace_id


def test_the_graph_shows_the_loop_of_an_agent_and_is_walked_by_keyboard(
    page: Page, hone_server: Any, visit: Visit, shoot: Shoot, axe: Callable[[Page], list[str]]
) -> None:
    visit(f"traces/{post_agent(hone_server, 3)}?view=graph")
    nodes = page.locator(".graph-node")
    expect(nodes).to_have_count(3)
    think = page.get_by_role("button", name=re.compile("^generation think"))
    expect(think).to_have_attribute("aria-pressed", "true")
    expect(think).to_contain_text("1 of 3")
    expect(page.locator(".graph-edges text")).to_have_text([re.compile("^3"), re.compile("^2")])
    shoot(page, "trace-graph")
    assert axe(page) == []
    think.focus()
    page.keyboard.press("Enter")
    expect(think).to_contain_text("2 of 3")
    expect(page).to_have_url(re.compile(r"view=graph.*o=[0-9a-f]{16}"))
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name=re.compile("^tool weather"))).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".observation h2")).to_have_text("weather")
    expect(page.get_by_role("treeitem", selected=True)).to_contain_text("weather")


def test_any_generation_is_copied_tried_and_kept(
    open_page: Callable[..., Page], hone_server: Any
) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    trace_id = post_agent(hone_server, 2)
    page.goto(f"/p/{hone_server.project}/observations?name=think&q=How warm")
    row = page.locator('.grid-body [role="row"]').first
    expect(row).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Space")
    panel = page.get_by_role("complementary", name="Preview of think")
    expect(panel).to_contain_text("How warm is it?")
    panel.get_by_role("button", name="Actions of the call").click()
    page.get_by_role("menuitem", name="Copy as curl").click()
    expect(page.get_by_role("status")).to_contain_text("Copied as curl")
    assert '"How warm is it?"' in page.evaluate("navigator.clipboard.readText()")
    page.keyboard.press("d")
    expect(page.get_by_role("dialog").get_by_label("Input")).to_have_value("How warm is it?")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page).to_have_url(re.compile(rf"/playground\?trace={trace_id}&o=[0-9a-f]{{16}}"))
    expect(page.get_by_label("Text of message 1")).to_have_value("How warm is it?")
