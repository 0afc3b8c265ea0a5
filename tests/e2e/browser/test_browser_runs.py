"""Batch runs: inputs are checked, answers come in live, results can be taken away."""

import json
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

ANSWERED_MS = 120_000


@pytest.fixture
def prompt(hone_server: Any) -> str:
    """A prompt with the variables `city` and `word`, whose answers are short."""
    name = f"e2e/{uuid.uuid4().hex[:8]}/run"
    body = {
        "name": name,
        "type": "chat",
        "prompt": [{"role": "user", "content": "Say {{word}} about {{city}}."}],
        "config": {"max_tokens": 6, "temperature": 0},
    }
    status, answer = hone_server.post(f"/api/projects/{hone_server.project}/prompts", body)
    assert status == 201, answer
    return name


@pytest.fixture
def start_run(hone_server: Any, prompt: str) -> Callable[..., str]:
    """Starts a run over the API; returns its id."""

    def start(num_inputs: int, **more: Any) -> str:
        body = {
            "name": f"Started {uuid.uuid4().hex[:6]}",
            "prompt": {"name": prompt, "version": 1},
            "model": hone_server.model,
            "inputs": [{"city": f"City {i}", "word": "yes"} for i in range(num_inputs)],
            **more,
        }
        status, run = hone_server.post(f"/api/projects/{hone_server.project}/runs", body)
        assert status == 202, run
        return str(run["id"])

    return start


def new_run_url(hone_server: Any, prompt: str) -> str:
    return f"/p/{hone_server.project}/runs?new=1&prompt={prompt}&version=1"


def expect_done(page: Page) -> None:
    expect(page.locator(".page-title .run-state")).to_have_text("Done", timeout=ANSWERED_MS)


def test_a_pasted_table_is_answered_live_and_each_answer_has_its_trace(
    page: Page, hone_server: Any, prompt: str, shoot: Callable[[Page, str], None]
) -> None:
    page.goto(new_run_url(hone_server, prompt))
    inputs = page.get_by_role("textbox", name="Inputs")
    inputs.fill('city,word,note\nParis,"yes, truly",a\nRome,no,b\n"Oslo, old",maybe,c')
    note = page.locator("#run-inputs-note")
    expect(note).to_contain_text("3 rows of CSV, 3 columns. word, city found.")
    expect(note).to_contain_text("Not used by the prompt: note.")
    expect(page.get_by_role("cell", name="yes, truly")).to_be_visible()
    shoot(page, "run-new")
    page.get_by_label("Name", exact=True).fill("Cities")
    page.keyboard.press("Control+Enter")

    expect(page).to_have_url(re.compile(r"/runs/\d+$"))
    expect_done(page)
    expect(page.get_by_role("region", name="Progress")).to_contain_text("3 of 3")
    table = page.get_by_role("table", name="Inputs and answers")
    row = table.get_by_role("row").filter(has_text="Oslo, old")
    expect(row).to_contain_text("maybe")
    shoot(page, "run-done")
    row.get_by_role("link", name="Trace of input 2").click()
    expect(page).to_have_url(re.compile(r"/traces/[0-9a-f]{32}"))
    expect(page.get_by_text("Say maybe about Oslo, old.").first).to_be_visible()


def test_what_is_wrong_with_the_inputs_is_told_by_line(
    page: Page, hone_server: Any, prompt: str
) -> None:
    page.goto(new_run_url(hone_server, prompt))
    inputs = page.get_by_role("textbox", name="Inputs")
    note = page.locator("#run-inputs-note")
    start = page.get_by_role("button", name=re.compile("^Run"))
    for text, problem in (
        ('{"city": "a", "word": "b"}\n{"city": "c"}', "Line 2 has no “word”."),
        ('{"city": "a", "word": "b"}\n{"city":', 'Line 2 is not JSON: {"city":.'),
        ("city,word\na,b\nc", "Line 3 has 1 cell where the first line has 2."),
        ("City,word\na,b", "did you mean “City”?"),
    ):
        inputs.fill(text)
        expect(note).to_contain_text(problem)
        expect(start).to_be_disabled()
    inputs.fill("city,word\na,b")
    expect(start).to_be_enabled()
    page.reload()
    expect(inputs).to_have_value("city,word\na,b")


def test_a_file_is_read_and_its_results_come_back_as_files(
    page: Page, hone_server: Any, prompt: str, tmp_path: Path
) -> None:
    source = tmp_path / "cities.jsonl"
    rows = [{"city": f"C{i}", "word": 'say "hi",\nplease'} for i in range(4)]
    source.write_text("\n".join(map(json.dumps, rows)))
    page.goto(new_run_url(hone_server, prompt))
    page.get_by_label("File with inputs").set_input_files(source)
    expect(page.get_by_text("cities.jsonl")).to_be_visible()
    page.get_by_role("button", name="Run 4 inputs").click()
    expect_done(page)

    page.get_by_role("button", name="Download").click()
    with page.expect_download() as jsonl:
        page.get_by_role("menuitem", name="JSON lines").click()
    items = [json.loads(line) for line in Path(jsonl.value.path()).read_text().splitlines()]
    assert [item["variables"] for item in items] == rows
    assert all(item["state"] == "done" and item["output"] for item in items)
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as csv:
        page.get_by_role("menuitem", name="CSV").click()
    assert csv.value.suggested_filename.endswith(".csv")
    assert (
        "index,state,city,word,output,error,trace_id,attempt" in Path(csv.value.path()).read_text()
    )


def test_a_file_that_is_no_text_is_refused(
    page: Page, hone_server: Any, prompt: str, tmp_path: Path
) -> None:
    source = tmp_path / "latin.csv"
    source.write_bytes("city,word\nKöln,ja".encode("latin-1"))
    page.goto(new_run_url(hone_server, prompt))
    page.get_by_label("File with inputs").set_input_files(source)
    expect(page.locator("#run-inputs-note")).to_contain_text("latin.csv could not be read")


def test_a_run_is_canceled_after_a_question(
    page: Page, hone_server: Any, start_run: Callable[..., str]
) -> None:
    run = start_run(400, parameters={"max_tokens": 400})
    page.goto(f"/p/{hone_server.project}/runs/{run}")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
    expect(page.locator(".page-title .run-state")).to_have_text("Canceled")
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    state = hone_server.get(f"/api/projects/{hone_server.project}/runs/{run}")[1]["state"]
    assert state == "canceled"


def test_the_list_shows_new_runs_and_their_progress_by_itself(
    page: Page, hone_server: Any, start_run: Callable[..., str]
) -> None:
    start_run(1)
    page.goto(f"/p/{hone_server.project}/runs")
    rows = page.get_by_role("table", name="Runs").get_by_role("row")
    expect(rows.nth(1)).to_be_visible()
    name = f"Seen {uuid.uuid4().hex[:8]}"
    run = start_run(3, name=name)
    row = rows.filter(has_text=name)
    expect(row).to_be_visible()
    expect(row.get_by_role("progressbar")).to_have_attribute(
        "aria-valuenow", "3", timeout=ANSWERED_MS
    )
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/runs/{run}$"))


def test_an_answer_is_read_at_the_side_and_is_a_link(
    page: Page,
    hone_server: Any,
    start_run: Callable[..., str],
    shoot: Callable[[Page, str], None],
) -> None:
    run = start_run(5)
    page.goto(f"/p/{hone_server.project}/runs/{run}")
    expect_done(page)
    answers = page.get_by_role("table", name="Inputs and answers")
    expect(answers).to_contain_text("City 4")  # the rows come after the run's own state
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Space")
    panel = page.get_by_role("complementary", name="Input 1")
    expect(panel).to_contain_text("City 1")
    expect(page).to_have_url(re.compile(r"item=1"))
    page.keyboard.press("]")
    expect(page.get_by_role("complementary", name="Input 2")).to_be_visible()
    shoot(page, "run-item")
    page.reload()
    expect(page.get_by_role("complementary", name="Input 2")).to_contain_text("City 2")
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    page.get_by_role("link", name=re.compile("^Failed")).click()
    expect(page.get_by_role("heading", name="No input failed")).to_be_visible()


def test_a_long_run_scrolls_without_all_its_rows(
    page: Page, hone_server: Any, start_run: Callable[..., str]
) -> None:
    run = start_run(1500, parameters={"max_tokens": 1})
    hone_server.post(f"/api/projects/{hone_server.project}/runs/{run}/cancel")
    page.goto(f"/p/{hone_server.project}/runs/{run}")
    table = page.get_by_role("table", name="Inputs and answers")
    expect(table).to_have_attribute("aria-rowcount", "1501")
    for _ in range(20):
        table.evaluate("box => box.scrollTo(0, box.scrollHeight)")
        if table.get_by_text("City 1499").count():
            break
        page.wait_for_timeout(250)
    expect(table.get_by_text("City 1499")).to_be_visible()
    assert table.get_by_role("row").count() < 100


def test_a_run_that_is_not_there_is_told(page: Page, hone_server: Any) -> None:
    page.goto(f"/p/{hone_server.project}/runs/999999999")
    expect(page.get_by_role("heading", name=re.compile("There is no run"))).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "size", [(1440, 900), (1024, 768), (390, 844)], ids=["desktop", "tablet", "phone"]
)
def test_axe_finds_nothing_serious_in_the_views_of_runs(
    open_page: Callable[..., Page],
    hone_server: Any,
    prompt: str,
    start_run: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
    theme: str,
    size: tuple[int, int],
) -> None:
    page = open_page(color_scheme=theme, viewport={"width": size[0], "height": size[1]})
    run = start_run(3)
    base = f"/p/{hone_server.project}/runs"
    found = {}
    page.goto(f"{base}/{run}")
    expect_done(page)
    for view, path in {
        "list": base,
        "one": f"{base}/{run}",
        "item": f"{base}/{run}?item=0",
        "new": new_run_url(hone_server, prompt),
    }.items():
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()
        expect(page.locator('[aria-busy="true"]')).to_have_count(0)
        if view == "new":
            page.get_by_role("textbox", name="Inputs").fill("city,word\nA,b\nC")
            expect(page.locator("#run-inputs-note")).to_contain_text("Line 3")
        shoot(page, f"runs-{view}-{size[0]}-{theme}")
        if trouble := axe(page):
            found[view] = trouble
    assert not found
