"""Writing prompts: versions, labels, drafts that are never lost, and code that runs."""

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.e2e

SYSTEM = "You answer for {{company}}. Be brief."


@pytest.fixture
def make_prompt(hone_server: Any) -> Callable[..., str]:
    """Stores a prompt of a name of its own with one version per text; returns its name."""

    def make(*texts: str, config: dict[str, Any] | None = None) -> str:
        name = f"e2e/{uuid.uuid4().hex[:8]}/answer"
        path = f"/api/projects/{hone_server.project}/prompts"
        for number, text in enumerate(texts, 1):
            body = {
                "type": "chat",
                "prompt": [
                    {"role": "system", "content": SYSTEM},
                    {"role": "user", "content": text},
                ],
                "config": config or {"max_tokens": 8},
                "message": f"Text {number}",
            }
            new = number == 1
            address = path if new else f"{path}/{name}/versions"
            status, answer = hone_server.post(address, {**body, **({"name": name} if new else {})})
            assert status == 201, answer
        return name

    return make


def prompt_url(hone_server: Any, name: str, query: str = "") -> str:
    return f"/p/{hone_server.project}/prompts/{name}{query}"


def message(page: Page, number: int) -> Locator:
    return page.get_by_role("textbox", name=re.compile(rf"message, {number} of"))


def test_a_prompt_is_made_by_keyboard_and_stands_in_its_folder(
    page: Page, hone_server: Any, shoot: Callable[[Page, str], None]
) -> None:
    name = f"a-{uuid.uuid4().hex[:8]}/greeting"  # first in the list, so in view
    page.goto(f"/p/{hone_server.project}/prompts")
    expect(page.get_by_role("table", name="Prompts")).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type(name)
    message(page, 1).fill("Be kind.")
    message(page, 2).fill("Greet {{who}}.")
    expect(page.get_by_role("region", name="Variables")).to_contain_text("who")
    shoot(page, "prompt-new")
    page.keyboard.press("Control+Enter")

    expect(page).to_have_url(re.compile(f"/prompts/{name}$"))
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_text("Version 1", exact=True)).to_be_visible()
    page.get_by_role("link", name="Prompts").first.click()
    table = page.get_by_role("table", name="Prompts")
    folder = table.get_by_role("button", name=name.split("/", maxsplit=1)[0])
    expect(folder).to_have_attribute("aria-expanded", "true")
    folder.click()
    expect(table.locator(f'a[href$="{name}"]')).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type(name[:10])
    expect(page).to_have_url(re.compile(r"\?q="))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_a_bad_name_is_told_where_it_is_typed(page: Page, hone_server: Any) -> None:
    page.goto(f"/p/{hone_server.project}/prompts?new=1")
    page.get_by_label("Name", exact=True).fill("support//answer")
    expect(page.get_by_role("alert")).to_contain_text("extra slash")
    expect(page.get_by_role("button", name="Create prompt")).to_be_disabled()


def test_what_is_typed_outlives_a_reload_and_becomes_a_version(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    name = make_prompt("Question: {{question}}")
    page.goto(prompt_url(hone_server, name))
    expect(page.get_by_role("button", name="Save version 2")).to_be_disabled()
    page.keyboard.press("e")
    expect(message(page, 1)).to_be_focused()
    message(page, 2).fill("Question of {{customer}}: {{question}}")
    page.reload()
    expect(message(page, 2)).to_have_value("Question of {{customer}}: {{question}}")
    expect(page.get_by_text("Unsaved changes to version 1")).to_be_visible()

    page.get_by_label("What changed").fill("Say who asks")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved as version 2")
    expect(page.get_by_text("Unsaved changes")).to_have_count(0)
    page.get_by_role("link", name=re.compile("^Versions")).click()
    newest = page.get_by_role("list", name="Versions, newest first").get_by_role("listitem").first
    expect(newest).to_contain_text(re.compile(r"v2.*latest.*Say who asks", re.S))
    stored = hone_server.get(f"/api/projects/{hone_server.project}/prompts/{name}/versions/2")[1]
    assert stored["variables"] == ["company", "customer", "question"]
    assert stored["config"] == {"max_tokens": 8}
    assert stored["parent"] == 1


def test_typing_back_to_what_is_saved_leaves_no_draft(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    page.goto(prompt_url(hone_server, make_prompt("Same")))
    message(page, 2).fill("Other")
    expect(page.get_by_text("Unsaved changes to version 1")).to_be_visible()
    message(page, 2).fill("Same")
    expect(page.get_by_text("Unsaved changes")).to_have_count(0)


def test_text_is_kept_when_the_server_refuses_it(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    page.goto(prompt_url(hone_server, make_prompt("Before")))
    message(page, 2).fill("After")
    page.route("**/versions", lambda route: route.abort())
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Your text is kept")
    expect(message(page, 2)).to_have_value("After")


def test_messages_are_added_moved_and_removed(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    page.goto(prompt_url(hone_server, make_prompt("{{question}}")))
    page.get_by_role("button", name="Add assistant message").click()
    message(page, 3).fill("An example")
    page.get_by_role("button", name="Move message 3 up").click()
    expect(message(page, 2)).to_have_value("An example")
    page.get_by_role("button", name="Remove message 1").click()
    expect(message(page, 1)).to_have_value("An example")
    expect(page.get_by_label("Role of message 1")).to_have_value("assistant")


def test_two_versions_are_compared_by_words(
    page: Page,
    hone_server: Any,
    make_prompt: Callable[..., str],
    shoot: Callable[[Page, str], None],
) -> None:
    name = make_prompt("Answer {{question}} politely", "Answer {{question}} in one sentence", "New")
    page.goto(prompt_url(hone_server, name, "?tab=versions"))
    page.get_by_label("Mark version 1 to compare").check()
    page.get_by_label("Mark version 2 to compare").check()
    page.keyboard.press("c")
    expect(page).to_have_url(re.compile(r"a=1&b=2"))
    user = page.get_by_role("region", name="user, changed")
    expect(user.locator("del")).to_have_text("politely")
    assert user.locator("ins").all_inner_texts() == ["in one sentence"]
    expect(page.get_by_role("region", name="system, same")).to_contain_text("Unchanged")
    shoot(page, "prompt-compare")
    page.get_by_role("button", name="Swap the sides").click()
    expect(page).to_have_url(re.compile(r"a=2&b=1"))
    expect(user.locator("ins")).to_have_text("politely")
    page.go_back()
    expect(page).to_have_url(re.compile(r"a=1&b=2"))
    page.keyboard.press("Escape")
    expect(message(page, 2)).to_have_value("New")


def test_production_moves_only_after_a_question(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    name = make_prompt("One", "Two")
    path = f"/api/projects/{hone_server.project}/prompts/{name}"
    page.goto(prompt_url(hone_server, name, "?tab=versions"))
    actions = page.get_by_role("button", name="Actions for version 1")
    actions.click()
    page.get_by_role("menuitem", name="staging").click()
    expect(page.get_by_role("status")).to_contain_text("staging is version 1 now")
    actions.click()
    page.get_by_role("menuitem", name="production").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Give production to version 1?")
    dialog.get_by_role("button", name="Cancel").click()
    assert "production" not in hone_server.get(path)[1]["labels"]
    actions.click()
    page.get_by_role("menuitem", name="production").click()
    page.get_by_role("dialog").get_by_role("button", name="Give it to version 1").click()
    expect(page.get_by_role("status")).to_contain_text("production is version 1 now")
    assert hone_server.get(path)[1]["labels"] == {"latest": 2, "production": 1, "staging": 1}


def test_variables_are_filled_in_as_one_types(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    page.goto(prompt_url(hone_server, make_prompt("{{question}}, asks {{who}}")))
    sent = page.get_by_role("region", name="Rendered prompt")
    page.get_by_label("question").fill("Where is it?")
    expect(sent).to_contain_text("Where is it?, asks {{who}}")
    expect(sent.locator("mark", has_text="{{who}}")).to_have_attribute(
        "title", "who has no value here"
    )
    page.reload()
    expect(page.get_by_label("question")).to_have_value("Where is it?")


def test_an_old_version_is_restored_as_a_new_one(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    name = make_prompt("First", "Second")
    page.goto(prompt_url(hone_server, name, "?v=1"))
    expect(page.get_by_role("region", name="user message, 2 of 2")).to_contain_text("First")
    expect(message(page, 2)).to_have_count(0)
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("status")).to_contain_text("Saved as version 3")
    expect(message(page, 2)).to_have_value("First")
    stored = hone_server.get(f"/api/projects/{hone_server.project}/prompts/{name}/versions/3")[1]
    assert (stored["message"], stored["parent"]) == ("Restore version 1", 1)


def test_a_parameter_out_of_range_is_not_saved(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    page.goto(prompt_url(hone_server, make_prompt("Hello")))
    page.get_by_role("button", name="Parameter", exact=True).click()
    page.get_by_role("menuitem", name="temperature").click()
    expect(page.get_by_label("temperature", exact=True)).to_be_focused()
    page.keyboard.type("7")
    expect(page.get_by_role("alert")).to_contain_text("temperature: wanted a number from 0 to 2")
    expect(page.get_by_role("button", name="Save version 2")).to_be_disabled()
    page.get_by_label("temperature", exact=True).fill("0.7")
    expect(page.get_by_role("button", name="Save version 2")).to_be_enabled()


def test_the_code_to_copy_runs_as_it_stands(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    name = make_prompt("Say {{word}}", config={"max_tokens": 6, "model": hone_server.model})
    page.goto(prompt_url(hone_server, name, "?tab=code"))
    code = page.locator("pre code")
    expect(code).to_contain_text(f"{name}@latest")
    source = code.inner_text()
    environment = {**os.environ, "HONE_SECRET_KEY": hone_server.secret_key}
    done = subprocess.run(
        [sys.executable, "-c", source], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_a_prompt_goes_to_the_playground_and_to_a_run(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    name = make_prompt("One", "Two")
    page.goto(prompt_url(hone_server, name, "?v=1"))
    page.get_by_role("button", name="Run as batch").click()
    expect(page.get_by_label("Prompt", exact=True)).to_have_value(name)
    expect(page.get_by_label("Version")).to_have_value("1")
    page.go_back()
    expect(page.get_by_text("Version 1", exact=True)).to_be_visible()
    page.keyboard.press("r")
    expect(page).to_have_url(re.compile(r"/playground\?prompt=.*&version=1"))


def test_a_prompt_that_is_not_there_can_be_made(page: Page, hone_server: Any) -> None:
    page.goto(prompt_url(hone_server, "e2e/nowhere"))
    expect(page.get_by_role("heading", name="There is no prompt “e2e/nowhere”")).to_be_visible()
    page.get_by_role("button", name="Create it").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("e2e/nowhere")


def test_a_prompt_is_tagged_and_deleted(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    name = make_prompt("Gone soon")
    page.goto(prompt_url(hone_server, name))
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Tags…").click()
    page.get_by_role("textbox", name="Tags").fill("e2e, gone")
    page.get_by_role("button", name="Save tags").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete prompt…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete prompt").click()
    expect(page).to_have_url(re.compile(r"/prompts$"))
    assert hone_server.get(f"/api/projects/{hone_server.project}/prompts/{name}")[0] == 404


@pytest.mark.parametrize(
    ("size", "theme"),
    [((1440, 900), "light"), ((390, 844), "dark")],
    ids=["desktop-light", "phone-dark"],
)
def test_axe_finds_nothing_serious_in_the_views_of_a_prompt(
    open_page: Callable[..., Page],
    hone_server: Any,
    make_prompt: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
    theme: str,
    size: tuple[int, int],
) -> None:
    page = open_page(color_scheme=theme, viewport={"width": size[0], "height": size[1]})
    name = make_prompt("Answer {{question}} politely", "Answer {{question}}", "Now {{question}}")
    views = {
        "edit": "",
        "preview": "?tab=preview",
        "versions": "?tab=versions",
        "code": "?tab=code",
        "old": "?v=1&tab=versions",
        "compare": "?a=1&b=3",
    }
    found = {}
    for view, query in views.items():
        page.goto(prompt_url(hone_server, name, query))
        expect(page.locator(".p-editor-pane, .p-side-pane").first).to_be_visible()
        expect(page.locator('[aria-busy="true"]')).to_have_count(0)
        if view == "compare":
            expect(page.get_by_role("region", name="user, changed")).to_be_visible()
        shoot(page, f"prompt-{view}-{size[0]}-{theme}")
        if trouble := axe(page):
            found[view] = trouble
    page.goto(f"/p/{hone_server.project}/prompts?new=1")
    expect(page.locator("h1")).to_have_text("New prompt")
    if trouble := axe(page):
        found["new"] = trouble
    assert not found


def test_what_versions_did_is_measured_and_leads_to_the_trace(
    page: Page,
    hone_server: Any,
    make_prompt: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    name = make_prompt("Say one", "Say two", config={"max_tokens": 3, "model": hone_server.model})
    with hone_server.openai() as client:
        for version in (1, 2, 2):
            body = {"prompt": f"{name}@{version}", "variables": {"company": "Acme"}}
            client.chat.completions.create(
                model=hone_server.model, messages=[], extra_body={**body, "max_tokens": 3}
            )
    page.goto(prompt_url(hone_server, name, "?tab=measures"))
    calls = page.get_by_role("region", name="Calls", exact=True).first
    rows = calls.get_by_role("listitem")
    expect(rows).to_have_text([re.compile("^v2.*2$", re.S), re.compile("^v1.*1$", re.S)])
    table = page.get_by_role("region", name="Two versions compared").get_by_role("table")
    expect(table.get_by_role("row", name=re.compile("^Failed"))).to_contain_text("0 %")
    assert axe(page) == []
    shoot(page, "prompt-measures")
    page.get_by_role("radio", name="24 h").check()
    expect(page).to_have_url(re.compile(r"days=1"))
    page.locator(".pm-call").first.click()
    expect(page).to_have_url(re.compile(r"/traces/[0-9a-f]{32}"))
    page.get_by_title("The prompt of this call").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_a_label_is_split_by_shares(
    page: Page,
    hone_server: Any,
    make_prompt: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    name = make_prompt("One", "Two")
    path = f"/api/projects/{hone_server.project}/prompts/{name}"
    page.goto(prompt_url(hone_server, name, "?tab=versions"))
    page.get_by_role("button", name="Actions for version 1").click()
    page.get_by_role("menuitem", name="production").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Give it to version 1").click()
    expect(page.get_by_role("status")).to_contain_text("production is version 1 now")

    page.get_by_role("button", name="Actions for version 2").click()
    page.get_by_role("menuitem", name="Split production…").click()
    dialog = page.get_by_role("dialog")
    share = dialog.get_by_label("Share of version 2 in percent")
    expect(share).to_have_value("10")
    share.fill("x")
    expect(dialog.get_by_role("alert")).to_contain_text("percentage")
    share.fill("25")
    expect(dialog.get_by_label("Share of version 1 in percent")).to_have_value("75")
    assert axe(page) == []
    shoot(page, "prompt-split")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("production is v1 75 % · v2 25 % now")
    rows = page.get_by_role("list", name="Versions, newest first").get_by_role("listitem")
    expect(rows.first).to_contain_text("production25 %")
    expect(rows.last).to_contain_text("production75 %")
    stored = hone_server.get(path)[1]
    assert [arm["version"] for arm in stored["splits"]["production"]] == [1, 2]
    assert stored["labels"]["production"] == 1


def test_a_prompt_is_put_away_and_brought_back(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    name = make_prompt("One")
    page.goto(prompt_url(hone_server, name))
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(page.get_by_text("Archived: code that names it")).to_be_visible()
    page.goto(f"/p/{hone_server.project}/prompts?q={name}")
    expect(page.get_by_role("heading", name=re.compile("^No prompt has"))).to_be_visible()
    page.get_by_role("button", name="Archive").click()
    page.locator(f'a[href$="{name}"]').click()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Take out of the archive").click()
    expect(page.get_by_text("Archived: code that names it")).to_have_count(0)


def test_a_prompt_inside_a_prompt_is_shown_and_variables_are_declared(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    path = f"/api/projects/{hone_server.project}/prompts"
    inner = f"e2e/{uuid.uuid4().hex[:8]}/style"
    text = "Write plainly for {{reader}}."
    assert hone_server.post(path, {"name": inner, "type": "text", "prompt": text})[0] == 201
    name = make_prompt(f"{{{{> {inner}@1}}}} Now.")
    page.goto(prompt_url(hone_server, name))
    sent = page.get_by_role("region", name="Rendered prompt")
    expect(sent).to_contain_text("Write plainly for {{reader}}. Now.")
    expect(sent.get_by_role("link", name=f"{inner} v1")).to_be_visible()

    variables = page.get_by_role("region", name="Variables")
    variables.get_by_role("button", name="text", exact=True).last.click()
    dialog = page.get_by_role("dialog", name="Variable reader")
    dialog.get_by_label("Example").fill("a child")
    dialog.get_by_role("button", name="Declare").click()
    page.get_by_role("button", name="Use the examples").click()
    expect(sent).to_contain_text("Write plainly for a child. Now.")
    page.get_by_role("button", name="Save version 2").click()
    expect(page.get_by_role("status")).to_contain_text("Saved as version 2")
    stored = hone_server.get(f"{path}/{name}/versions/2")[1]
    assert stored["inputs"] == {"reader": {"type": "text", "example": "a child"}}


def test_words_of_the_text_are_found(
    page: Page, hone_server: Any, make_prompt: Callable[..., str]
) -> None:
    word = f"zebra{uuid.uuid4().hex[:6]}"
    name = make_prompt(f"Say {word}")
    page.goto(f"/p/{hone_server.project}/prompts")
    expect(page.get_by_label("Search prompts")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type(word)
    expect(page.locator(f'a[href$="{name}"]')).to_be_visible()


def test_what_others_include_is_archived_instead_of_deleted(
    page: Page,
    hone_server: Any,
    make_prompt: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    tone = f"e2e/{uuid.uuid4().hex[:8]}/tone"
    path = f"/api/projects/{hone_server.project}/prompts"
    assert hone_server.post(path, {"name": tone, "type": "text", "prompt": "Kind."})[0] == 201
    outer = make_prompt("Answer. {{> " + tone + "}} {{question}}")
    page.goto(prompt_url(hone_server, outer))
    expect(page.locator(".mark-include")).to_have_text("{{> " + tone + "}}")
    shoot(page, "prompt-includes")
    page.get_by_role("region", name="user message").get_by_role("link", name=tone).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(tone)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete prompt…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete prompt").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"{tone} is included by others")
    includers = page.get_by_role("list", name="Included by")
    expect(includers.get_by_role("listitem")).to_have_text(f"{outer}v1")
    assert axe(page) == []
    shoot(page, "prompt-included")
    page.get_by_role("button", name="Archive instead").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    rendered = hone_server.get(f"/api/public/v2/prompts/{outer}?label=latest")[1]
    assert "Answer. Kind. {{question}}" in str(rendered["prompt"])


def test_a_label_that_others_include_stays_and_it_is_told_who_includes_it(
    page: Page,
    hone_server: Any,
    make_prompt: Callable[..., str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    tone = f"e2e/{uuid.uuid4().hex[:8]}/tone"
    path = f"/api/projects/{hone_server.project}/prompts"
    body = {"name": tone, "type": "text", "prompt": "Kind.", "labels": ["staging"]}
    assert hone_server.post(path, body)[0] == 201
    outer = make_prompt("Answer. {{> " + tone + "@staging}}")
    page.goto(prompt_url(hone_server, tone, "?tab=versions"))
    page.get_by_role("button", name="Actions for version 1").click()
    page.get_by_role("menuitem", name="staging chosen").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{tone}@staging is included by others")
    includers = dialog.get_by_role("list", name="Included by")
    expect(includers.get_by_role("listitem")).to_have_text(f"{outer}v1")
    assert axe(page) == []
    shoot(page, "prompt-label-included")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert hone_server.get(f"{path}/{tone}")[1]["labels"] == {"latest": 1, "staging": 1}
