"""Scores, comments and datasets, as people give and make them."""

import re
import secrets
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

Visit = Callable[[str], None]


def post_span(
    hone_server: Any, *, output: str = "Paris", facts: dict[str, str] | None = None
) -> tuple[str, str]:
    """One span through the OTLP door; its trace id and span id."""
    trace_id, span_id = secrets.token_hex(16), secrets.token_hex(8)
    now = time.time_ns() - 10**9
    attributes = {
        "langfuse.observation.input": '{"question": "Capital of France?"}',
        "langfuse.observation.output": output,
        **{f"langfuse.experiment.{name}": value for name, value in (facts or {}).items()},
    }
    if facts:
        attributes["langfuse.experiment.item.root_observation_id"] = span_id
    span = {
        "traceId": trace_id,
        "spanId": span_id,
        "name": "answer",
        "startTimeUnixNano": str(now),
        "endTimeUnixNano": str(now + 25 * 10**6),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()],
    }
    scope = {"scope": {"name": "test"}, "spans": [span]}
    body = {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}
    assert hone_server.post("/v1/traces", body)[0] == 200
    return trace_id, span_id


def test_a_score_and_a_comment_are_given_by_keyboard(
    page: Page, hone_server: Any, visit: Visit, open_page: Callable[..., Page]
) -> None:
    trace_id, _ = post_span(hone_server)
    name = f"helpful {secrets.token_hex(3)}"
    body = {"name": name, "type": "NUMERIC", "min_value": 1, "max_value": 5}
    assert hone_server.post(f"/api/projects/{hone_server.project}/score-configs", body)[0] == 201
    address = f"traces/{trace_id}?view=said"
    other = open_page()
    other.goto(f"/p/{hone_server.project}/{address}")
    expect(other.get_by_text("No comments yet.")).to_be_visible()

    visit(address)
    expect(page.get_by_text("Nobody has scored this yet.")).to_be_visible()
    page.keyboard.press("s")
    form = page.get_by_role("form", name="New score")
    form.get_by_label("Score").select_option(name)
    form.get_by_label("Value").fill("4")
    form.get_by_label("Why").fill("short and right")
    page.keyboard.press("Enter")
    scores = page.get_by_role("region", name="Scores")
    expect(scores.get_by_role("listitem").filter(has_text=name)).to_contain_text("short and right")
    expect(page.get_by_role("group", name="Scores at a glance")).to_contain_text("4")

    page.keyboard.press("m")
    page.keyboard.type("Good enough to keep?")
    page.keyboard.press("Control+Enter")
    thread = page.get_by_role("region", name="Comments").get_by_role("listitem")
    expect(thread).to_contain_text("Good enough to keep?")
    # Whoever looks at the same trace sees both without reloading.
    comments = other.get_by_role("region", name="Comments")
    expect(comments.get_by_role("listitem")).to_contain_text("Good enough to keep?")
    expect(other.get_by_role("region", name="Scores")).to_contain_text(name)
    thread.get_by_role("button", name="Delete comment").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete comment").click()
    expect(page.get_by_text("No comments yet.")).to_be_visible()


def test_what_is_seen_becomes_an_item_of_a_dataset(
    page: Page, hone_server: Any, visit: Visit, shoot: Callable[[Page, str], None]
) -> None:
    trace_id, span_id = post_span(hone_server)
    name = f"e2e/{secrets.token_hex(4)}"
    visit(f"traces/{trace_id}")
    expect(page.locator(".observation")).to_be_visible()
    page.keyboard.press("d")
    dialog = page.get_by_role("dialog", name="Add to a dataset")
    dialog.get_by_label("Dataset", exact=True).select_option("New dataset…")
    dialog.get_by_label("Name of the new dataset").fill(name)
    expect(dialog.get_by_label("Input")).to_have_value(re.compile("Capital of France"))
    expect(dialog.get_by_label("Expected output")).to_have_value("Paris")
    dialog.get_by_role("button", name="Add the item").click()
    expect(page).to_have_url(re.compile(r"/datasets/[0-9a-f]+$"))
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    rows = page.get_by_role("table", name="Items").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("Capital of France?")

    page.keyboard.press("n")
    page.get_by_role("dialog").get_by_label("Input").fill('{"question": ')
    expect(page.get_by_role("alert")).to_contain_text("Not valid JSON")
    page.get_by_role("dialog").get_by_label("Input").fill("Capital of Peru?")
    page.keyboard.press("Control+Enter")
    expect(rows.nth(1)).to_contain_text("Capital of Peru?")
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    panel = page.get_by_role("complementary", name="Item")
    expect(panel).to_contain_text("Capital of France?")
    shoot(page, "dataset-item")
    panel.get_by_role("button", name="Archive").click()
    expect(panel).to_contain_text("archived")
    panel.get_by_role("button", name="Source").click()
    expect(page).to_have_url(re.compile(rf"/traces/{trace_id}\?o={span_id}"))
    page.go_back()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)


def make_runs(hone_server: Any) -> str:
    """A dataset of two items with two runs, made by spans as an SDK sends them; its id."""
    base = f"/api/projects/{hone_server.project}/datasets"
    status, dataset = hone_server.post(base, {"name": f"e2e/{secrets.token_hex(4)}"})
    assert status == 201
    for key in ("France", "Peru"):
        body = {"id": f"{dataset['id']}-{key}", "input": f"Capital of {key}?"}
        assert hone_server.post(f"{base}/{dataset['id']}/items", body)[0] == 201
    for run in ("first", "second"):
        for key in ("France", "Peru"):
            facts = {
                "id": f"{dataset['id']}-{run}",
                "name": f"{run} try",
                "dataset.id": dataset["id"],
                "item.id": f"{dataset['id']}-{key}",
            }
            trace_id, span_id = post_span(hone_server, output=f"{key}, {run}", facts=facts)
            score = {"trace_id": trace_id, "observation_id": span_id, "name": "exact"}
            number = float(run == "second")
            path = f"/api/projects/{hone_server.project}/scores"
            assert hone_server.post(path, {**score, "number": number})[0] == 201
    return str(dataset["id"])


def test_runs_stand_side_by_side(
    open_page: Callable[..., Page],
    hone_server: Any,
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    dataset = make_runs(hone_server)
    for theme in ("light", "dark"):
        page = open_page(color_scheme=theme)
        page.goto(f"/p/{hone_server.project}/datasets/{dataset}?tab=runs")
        runs = page.get_by_role("region", name="Runs")
        expect(runs.get_by_role("row").filter(has_text="second try")).to_contain_text("exact1n 2")
        assert axe(page) == []
        for run in ("first try", "second try"):
            runs.get_by_label(f"Compare {run}").check()
        page.keyboard.press("c")
        expect(page).to_have_url(re.compile(r"tab=compare"))
        table = page.get_by_role("region", name="Comparison")
        france = table.get_by_role("row").filter(has_text="Capital of France?")
        expect(france).to_contain_text("France, first")
        expect(france).to_contain_text("France, second")
        assert axe(page) == []
        shoot(page, f"dataset-comparison-{theme}")
    france.get_by_role("link", name="Open the trace").first.click()
    expect(page).to_have_url(re.compile(r"/traces/[0-9a-f]{32}"))


def test_links_that_sdks_print_lead_to_the_experiment(
    open_page: Callable[..., Page], hone_server: Any, axe: Callable[[Page], list[str]]
) -> None:
    facts = {"id": secrets.token_hex(8), "name": "local try", "item.id": "one"}
    post_span(hone_server, output="Lima", facts=facts)
    page = open_page()
    theirs = f"/project/{hone_server.project}"
    for link in (f"experiments/results?baseline={facts['id']}", f"datasets/x/runs/{facts['id']}"):
        page.goto(f"{theirs}/{link}")
        expect(page.get_by_role("heading", name="local try")).to_be_visible()
        expect(page.get_by_role("region", name="Executions")).to_contain_text("Lima")
    assert axe(page) == []
    page.get_by_role("link", name="Experiments").click()
    table = page.get_by_role("table", name="Experiments")
    expect(table.get_by_role("row").filter(has_text="local try").first).to_contain_text(
        "local data"
    )
    assert axe(page) == []


def test_a_dataset_is_made_found_and_deleted(page: Page, visit: Visit) -> None:
    name = f"e2e/{secrets.token_hex(4)}"
    visit("datasets?new=1")
    page.get_by_role("dialog").get_by_label("Name").fill(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="No items yet")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.get_by_role("heading", name="Datasets", exact=True)).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type(name)
    expect(page.get_by_role("row")).to_have_count(2)  # the head and what was looked for
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Delete dataset").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete dataset").click()
    expect(page).to_have_url(re.compile(r"/datasets$"))
    page.get_by_label("Search datasets").fill(name)
    expect(page.get_by_role("heading", name=re.compile("No dataset is called"))).to_be_visible()
