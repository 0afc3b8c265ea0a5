"""One prompt, several browsers: the same line, the line cut, a version made of it."""

import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

pytestmark = pytest.mark.e2e


@pytest.fixture
def room(hone_server: Any) -> Callable[..., str]:
    """Stores a prompt of one version; the address of its room."""

    def make(prompt: Any) -> str:
        name = f"e2e/{uuid.uuid4().hex[:8]}"
        kind = "text" if isinstance(prompt, str) else "chat"
        path = f"/api/projects/{hone_server.project}/prompts"
        status, answer = hone_server.post(path, {"name": name, "type": kind, "prompt": prompt})
        assert status == 201, answer
        return f"/p/{hone_server.project}/together/{name}"

    return make


def editor(page: Page) -> Locator:
    return page.locator(".cm-content").first


WORDS = """() => {
  const line = document.querySelector(".cm-line").cloneNode(true);
  for (const cursor of line.querySelectorAll(".cm-ySelectionCaret")) cursor.remove();
  return line.textContent;
}"""


def words(page: Page) -> str:
    """What the editor says without the names at colleagues' cursors."""
    return str(page.evaluate(WORDS))


def until_says(page: Page, text: str) -> None:
    """Asked again and again from here: the page's policy lets it evaluate no text."""
    for _ in range(200):
        if words(page) == text:
            return
        page.wait_for_timeout(50)
    assert words(page) == text


def test_three_browsers_type_into_the_same_line(
    open_page: Callable[..., Page], room: Callable[..., str], shoot: Callable[[Page, str], None]
) -> None:
    address = room("Start.")
    pages = [open_page() for _ in range(3)]
    for page in pages:
        page.goto(address)
        expect(editor(page)).to_have_text(re.compile("Start"))
        editor(page).click()
        page.keyboard.press("End")
    for number in range(8):  # turns so short that nobody waits for anybody
        for letter, page in zip("abc", pages, strict=True):
            page.keyboard.type(f"{letter}{number}")
    typed = {f"{letter}{number}" for letter in "abc" for number in range(8)}
    for page in pages:
        expect(editor(page)).to_have_text(re.compile("a7"))
        expect(editor(page)).to_have_text(re.compile("b7"))
        expect(editor(page)).to_have_text(re.compile("c7"))
    texts = {words(page) for page in pages}
    assert len(texts) == 1
    [text] = texts
    assert all(text.count(token) == 1 for token in typed), text
    pages[0].keyboard.press("Control+z")
    expect(editor(pages[1])).not_to_have_text(re.compile("a7"))
    assert "b7" in words(pages[1]), "undo takes back one's own edits only"
    shoot(pages[0], "together")


def test_what_is_written_without_a_line_is_sent_when_it_is_back(
    open_page: Callable[..., Page], room: Callable[..., str]
) -> None:
    address = room("Start.")
    first, second = open_page(), open_page()
    for page in (first, second):
        page.goto(address)
        expect(editor(page)).to_have_text(re.compile("Start"))
    first.context.set_offline(True)
    editor(first).click()
    first.keyboard.press("End")
    first.keyboard.type(" offline")
    editor(second).click()
    second.keyboard.press("Home")
    second.keyboard.type("online ")
    first.context.set_offline(False)
    for page in (first, second):
        until_says(page, "online Start. offline")


def test_a_chat_is_written_and_published_together(
    open_page: Callable[..., Page],
    room: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    address = room([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])
    first, second = open_page(color_scheme="dark"), open_page()
    for page in (first, second):
        page.goto(address)
        expect(page.locator(".cm-content")).to_have_count(2)
    first.get_by_role("button", name="Add message").click()
    expect(second.locator(".cm-content")).to_have_count(3)
    second.locator(".cm-content").last.click()
    second.keyboard.type("Hello {{name}}!")
    expect(first.locator(".cm-content").last).to_have_text(re.compile("Hello"))
    first.get_by_role("button", name="Move message 3 up").click()
    expect(second.locator(".cm-content").nth(1)).to_have_text(re.compile("Hello"))
    assert axe(first) == axe(second) == []
    shoot(first, "together-chat-dark")
    first.get_by_label("What changed").fill("A greeting")
    first.keyboard.press("Control+Enter")
    expect(first.get_by_text("Version 2 published")).to_be_visible()
    first.get_by_role("link", name="History").click()
    expect(first.locator(".t-history")).to_contain_text("Version 2")
    first.goto(address.replace("/together/", "/prompts/"))
    expect(first.locator("main")).to_contain_text("Hello")
    expect(first.get_by_role("button", name="Write together")).to_be_visible()


def tab(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Beside the text").get_by_role("link", name=name).click()


@pytest.fixture
def colleague(open_page: Callable[..., Page], hone_server: Any) -> Page:
    """A page of another person of the project."""
    email = f"{uuid.uuid4().hex[:8]}@example.com"
    owner = open_page()
    owner.goto("/")
    password = owner.evaluate(
        """async ([path, body]) => (await (await fetch(path, {
          method: "POST", body: JSON.stringify(body),
          headers: {"Content-Type": "application/json",
                    "X-CSRFToken": document.cookie.match(/csrftoken=([^;]+)/)[1]},
        })).json()).initial_password""",
        [
            f"/api/projects/{hone_server.project}/members",
            {"email": email, "name": "Bob Marten", "role": "member"},
        ],
    )
    page = open_page(signed=False)
    page.goto("/login")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/p/**/traces")
    return page


def test_settings_are_shared_and_one_undoes_ones_own(
    page: Page,
    colleague: Page,
    room: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    address = room("Hello {{name}}.")
    for each in (page, colleague):
        each.goto(f"{address}?tab=settings")
        expect(each.get_by_label("Example of name")).to_be_visible()
    page.get_by_label("temperature").fill("0.3")
    colleague.get_by_label("top p").fill("0.9")
    colleague.get_by_label("Example of name").fill("Ada")
    expect(page.get_by_label("top p")).to_have_value("0.9")
    expect(page.get_by_label("Example of name")).to_have_value("Ada")
    expect(colleague.get_by_label("temperature")).to_have_value("0.3")
    expect(page.locator(".t-field-who")).to_have_text("Bob Marten")
    shoot(page, "together-settings")
    assert axe(page) == []
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" Bye.")
    page.wait_for_timeout(700)  # what is typed without a pause is undone in one step
    for _ in range(2):
        page.keyboard.press("Control+z")
    expect(editor(page)).to_have_text("Hello {{name}}.")
    expect(colleague.get_by_label("temperature")).to_have_value("")
    expect(colleague.get_by_label("top p")).to_have_value("0.9")


def test_a_colleague_is_seen_and_followed(
    page: Page, colleague: Page, room: Callable[..., str], shoot: Callable[[Page, str], None]
) -> None:
    address = room("\n".join(f"Line {number}." for number in range(1, 201)))
    for each in (page, colleague):
        each.goto(address)
        expect(editor(each)).to_contain_text("Line 1.")
    editor(colleague).click()
    colleague.keyboard.press("Control+End")
    here = page.locator(".t-here")
    expect(here).to_contain_text("line 200")
    page.get_by_role("button", name="Follow Bob Marten").click()
    expect(page.get_by_text("You follow Bob Marten")).to_be_visible()
    expect(page.get_by_text("Line 199.")).to_be_in_viewport()
    colleague.keyboard.press("Control+Home")
    expect(page.get_by_text("Line 2.", exact=True)).to_be_in_viewport()
    shoot(page, "together-follow")
    editor(page).click()
    expect(page.get_by_text("You follow Bob Marten")).to_have_count(0)


def test_an_earlier_state_is_looked_at_by_keyboard_and_restored(
    page: Page,
    colleague: Page,
    room: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    address = room("Start.")
    for each, word in ((page, " mine"), (colleague, " theirs")):
        each.goto(address)
        expect(editor(each)).to_contain_text("Start.")
        editor(each).click()
        each.keyboard.press("Control+End")
        each.keyboard.type(word)
        expect(editor(each)).to_contain_text(word)
    expect(editor(page)).to_contain_text("theirs")
    page.reload()
    expect(editor(page)).to_contain_text("theirs")
    tab(page, "History")
    slider = page.get_by_role("slider", name="State of the draft")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    past = page.locator(".t-past")
    expect(past.locator(".t-past-text")).to_have_text("Start. mine the")
    expect(past.locator(".t-wrote").last).to_have_attribute("title", "Bob Marten")
    expect(past.locator(".t-legend")).to_contain_text("Before the draft")
    assert axe(page) == []
    shoot(page, "together-history")
    page.reload()
    expect(past.locator(".t-past-text")).to_have_text("Start. mine the")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("Restored, as an edit of now")).to_be_visible()
    expect(editor(colleague)).to_contain_text("Start. mine the")
    expect(editor(colleague)).not_to_contain_text("theirs")
    assert "at=" not in page.url


def test_a_run_is_seen_by_everybody_in_the_room(
    page: Page,
    colleague: Page,
    room: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    address = room("Say hello to {{name}}.")
    for each in (page, colleague):
        each.goto(f"{address}?tab=settings")
    page.get_by_label("max tokens").fill("12")
    page.get_by_label("Example of name").fill("Ada")
    for each in (page, colleague):
        tab(each, "Run")
    expect(page.locator(".t-run-bar button")).to_be_enabled()
    page.keyboard.press("r")
    for each in (colleague, page):
        expect(each.locator(".t-run footer")).to_contain_text("tokens", timeout=30_000)
        expect(each.get_by_role("link", name="Trace", exact=True)).to_be_visible(timeout=30_000)
        expect(each.locator(".t-answer")).to_have_text(re.compile(r"\w"))
    assert axe(page) == []
    shoot(page, "together-run")
    colleague.reload()
    expect(colleague.locator(".t-run")).to_have_count(1)


COMPLETIONS = "**/chat/completions"


def events(*chunks: dict[str, Any]) -> str:
    """Chunks of an answer as the server streams them."""
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


def test_a_run_whose_page_is_closed_is_shown_as_interrupted(
    page: Page,
    colleague: Page,
    open_page: Callable[..., Page],
    room: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    address = room("Say hello.")
    page.route(COMPLETIONS, lambda route: None)  # an answer that never begins
    for each in (page, colleague):
        each.goto(f"{address}?tab=run")
    # The side bar says where one is.
    places = page.get_by_role("navigation", name="Main")
    expect(places.get_by_role("link", name="Prompts")).to_have_attribute("aria-current", "page")
    expect(page.locator(".t-run-bar button")).to_be_enabled()
    page.keyboard.press("r")
    run = colleague.locator(".t-run")
    expect(run).to_contain_text("waits")
    # Another panel is looked at meanwhile: the run goes on.
    tab(page, "People")
    tab(page, "Run")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.close()
    expect(run).to_contain_text("interrupted", timeout=40_000)
    expect(run).to_contain_text("Its page was closed before the answer was whole.")
    expect(run).to_have_attribute("aria-busy", "false")
    assert axe(colleague) == []
    shoot(colleague, "together-interrupted")
    back = open_page()
    back.goto(f"{address}?tab=run")
    expect(back.locator(".t-run")).to_contain_text("interrupted")
    expect(back.locator(".t-run-bar button")).to_be_enabled()
    expect(run).to_contain_text("interrupted")


def test_an_answer_ends_at_the_limit_that_is_shown_and_runs_with_more(
    page: Page, room: Callable[..., str], shoot: Callable[[Page, str], None]
) -> None:
    asked: list[dict[str, Any]] = []

    def cut(route: Route) -> None:
        asked.append(route.request.post_data_json)
        said = {"choices": [{"delta": {"content": "Hello"}, "finish_reason": "length"}]}
        usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1024}}
        body = events(said, usage)
        route.fulfill(body=body, headers={"content-type": "text/event-stream"})

    page.route(COMPLETIONS, cut)
    page.goto(f"{room('Say hello.')}?tab=run")
    expect(page.locator(".t-run-bar")).to_contain_text("at most 1,024 tokens")
    expect(page.locator(".t-run-bar button")).to_be_enabled()
    page.keyboard.press("r")
    expect(page.locator(".t-run")).to_contain_text("cut at the limit")
    shoot(page, "together-cut")
    page.get_by_role("button", name="Run with 2,048").click()
    expect(page.locator(".t-run")).to_have_count(2)
    assert [body["max_tokens"] for body in asked] == [1024, 2048]
    expect(page.locator(".t-run-bar")).to_contain_text("at most 1,024 tokens")


def test_tools_and_json_are_shown_as_such_to_the_whole_room(
    page: Page,
    colleague: Page,
    room: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    call = {
        "index": 0,
        "id": "c1",
        "function": {"name": "weather", "arguments": '{"city": "Bonn"}'},
    }
    chunks = (
        {"choices": [{"delta": {"content": '{"mood": "sunny"}'}}]},
        {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]},
    )
    headers = {"content-type": "text/event-stream"}
    page.route(COMPLETIONS, lambda route: route.fulfill(body=events(*chunks), headers=headers))
    address = room("Say hello.")
    for each in (page, colleague):
        each.goto(f"{address}?tab=run")
    expect(page.locator(".t-run-bar button")).to_be_enabled()
    page.keyboard.press("r")
    for each in (page, colleague):
        called = each.get_by_role("region", name="Call of weather")
        expect(called).to_contain_text("city")
        expect(called).to_contain_text("Bonn")
        expect(each.locator(".t-answer")).to_contain_text("mood")
    assert axe(page) == []
    shoot(page, "together-tools")
