"""A draft discussed, approved, branched and merged, in several browsers and by keyboard."""

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.e2e
TEXT = "You answer for {{company}}.\n\nBe kind.\n"
PASSWORD = "correct horse battery"


def call(page: Page, hone_server: Any, method: str, path: str, body: object) -> Any:
    """A request of the page's account."""
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    answer = page.request.fetch(
        f"/api/projects/{hone_server.project}/{path}",
        method=method,
        data=body,
        headers={"x-csrftoken": cookies["csrftoken"], "referer": hone_server.url},
    )
    assert answer.ok, answer.text()
    return answer.json()


@pytest.fixture
def room(hone_server: Any) -> str:
    """The address of the room of a new prompt."""
    name = f"e2e/{uuid.uuid4().hex[:8]}"
    path = f"/api/projects/{hone_server.project}/prompts"
    status, answer = hone_server.post(path, {"name": name, "type": "text", "prompt": TEXT})
    assert status == 201, answer
    return f"/p/{hone_server.project}/together/{name}"


@pytest.fixture
def reviewed(page: Page, hone_server: Any) -> Iterator[str]:
    """A label of its own that needs one approval."""
    label = f"live-{uuid.uuid4().hex[:6]}"
    page.goto(f"/p/{hone_server.project}/prompts")
    call(page, hone_server, "PUT", "review-policy", {"labels": {label: 1}})
    yield label
    call(page, hone_server, "PUT", "review-policy", {"labels": {}})


@pytest.fixture
def page_of(
    page: Page, open_page: Callable[..., Page], hone_server: Any
) -> Callable[[str, str], Page]:
    """`page_of("Dana", "member")`: a browser of a new colleague."""

    def make(name: str, role: str, **options: Any) -> Page:
        email = f"{name.lower()}-{uuid.uuid4().hex[:6]}@example.com"
        page.goto(f"/p/{hone_server.project}/prompts")
        body = {"email": email, "name": name, "role": role, "password": PASSWORD}
        call(page, hone_server, "POST", "members", body)
        other = open_page(signed=False, **options)
        other.goto("/login")
        other.get_by_label("Email").fill(email)
        other.get_by_label("Password").fill(PASSWORD)
        other.get_by_role("button", name="Sign in").click()
        other.wait_for_url("**/p/**")
        return other

    return make


def editor(page: Page) -> Locator:
    return page.locator(".cm-content").first


def opened(page: Page, address: str, tab: str = "review") -> None:
    page.goto(f"{address}{'&' if '?' in address else '?'}tab={tab}")
    expect(editor(page)).to_contain_text("You answer for")


def select_line(page: Page, text: str) -> None:
    page.get_by_text(text).click()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")


def test_a_proposal_is_discussed_approved_and_published(
    page: Page,
    page_of: Callable[..., Page],
    room: str,
    reviewed: str,
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    dana = page_of("Dana", "member", color_scheme="dark")
    for one in (page, dana):
        opened(one, room)
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("Be brief.")
    select_line(page, "Be kind.")
    page.keyboard.press("Control+m")
    expect(page.get_by_label("Comment", exact=True)).to_be_focused()
    page.keyboard.type("Kind to whom?")
    page.keyboard.press("Control+Enter")
    expect(dana.get_by_text("Kind to whom?")).to_be_visible()
    expect(dana.locator(".cm-comment")).to_have_text("Be kind.")

    page.get_by_label("What the proposal changes").fill("Shorter")
    page.get_by_label("Publish to").select_option(reviewed)
    expect(page.get_by_text("Needs 1 approval by others.")).to_be_visible()
    page.get_by_role("button", name="Propose").click()
    publish = page.get_by_role("button", name=f"Publish to {reviewed}")
    expect(publish).to_be_disabled()
    expect(page.get_by_text("0 of 1 approvals")).to_be_visible()
    expect(dana.get_by_text("proposes this draft for")).to_be_visible()
    assert axe(page) == axe(dana) == []

    dana.keyboard.press("j")
    expect(dana.locator(".cm-comment-current")).to_have_text("Be kind.")
    dana.get_by_label("Reply").fill("To everybody.")
    dana.keyboard.press("Control+Enter")
    expect(page.get_by_text("To everybody.")).to_be_visible()
    shoot(dana, "review-dark")
    dana.locator("h1").click()
    dana.keyboard.press("x")
    expect(page.get_by_text("1 resolved")).to_be_visible()
    expect(page.locator(".cm-comment")).to_have_count(0)

    dana.get_by_role("button", name="Approve", exact=True).click()
    expect(publish).to_be_enabled()
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" Always.")
    expect(page.get_by_text("0 of 1 approvals; 1 given before the latest edits")).to_be_visible()
    expect(dana.get_by_text("an earlier text")).to_be_visible()
    dana.get_by_role("button", name="Approve", exact=True).click()
    publish.click()
    expect(page.get_by_text(f"Version 2 published to {reviewed}")).to_be_visible()
    expect(dana.get_by_text("Changes to version 2")).to_be_visible()
    shoot(page, "review-published")


def test_two_drafts_are_merged_and_the_conflict_is_decided(
    page: Page,
    open_page: Callable[..., Page],
    room: str,
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    opened(page, room, "drafts")
    page.get_by_label("Name of a new draft").fill("friendlier")
    page.keyboard.press("Enter")
    page.wait_for_url("**draft=**")
    expect(page.locator(".page-title .badge")).to_have_text("friendlier")
    editor(page).click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("Hello! ")
    select_line(page, "Be kind.")
    page.keyboard.type("Be warm.")
    main = open_page()
    opened(main, room, "drafts")
    select_line(main, "Be kind.")
    main.keyboard.type("Be precise.")
    expect(main.get_by_role("link", name=re.compile("^friendlier on v1"))).to_be_visible()
    main.get_by_role("button", name="What to do with friendlier").click()
    main.get_by_role("menuitem", name="Merge into this draft").click()
    expect(main.get_by_text("0 of 1 decided")).to_be_visible()
    expect(main.locator(".mg ins")).to_have_text("Hello! ")
    apply = main.get_by_role("button", name="Apply")
    expect(apply).to_be_disabled()
    assert axe(main) == []
    shoot(main, "merge")
    main.get_by_role("radio", name=re.compile("^This draft")).focus()
    main.keyboard.press("ArrowDown")
    main.keyboard.press("ArrowDown")
    expect(main.get_by_text("1 of 1 decided")).to_be_visible()
    main.keyboard.press("Control+Enter")
    expect(main.get_by_text("Draft friendlier merged")).to_be_visible()
    lines = main.locator(".cm-line")
    expect(lines.nth(0)).to_have_text("Hello! You answer for {{company}}.")
    expect(lines.nth(2)).to_have_text(re.compile("Be precise.*warm"))
    expect(page.locator(".cm-line").nth(2)).to_have_text("Be warm.")

    main.keyboard.press("Control+z")
    expect(lines.nth(0)).to_have_text("You answer for {{company}}.")
    expect(lines.nth(2)).to_have_text("Be precise.")
    main.keyboard.press("Control+Shift+z")
    expect(lines.nth(0)).to_have_text("Hello! You answer for {{company}}.")
    expect(lines.nth(2)).to_have_text(re.compile("Be precise.*warm"))


def test_the_text_itself_publishes_by_its_chord(page: Page, room: str) -> None:
    opened(page, room)
    here = page.get_by_role("navigation", name="Main").get_by_role("link", name="Prompts")
    expect(here).to_have_attribute("aria-current", "page")
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("Be brief.")
    expect(page.get_by_role("button", name="Publish", exact=False).first).to_be_enabled()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Version 2 published")).to_be_visible()
    expect(page.locator(".cm-line").last).to_have_text("Be brief.")


def test_an_include_leads_to_its_prompt_and_an_undeclared_variable_shows(
    page: Page, hone_server: Any, room: str, shoot: Callable[[Page, str], None]
) -> None:
    tone = f"e2e/{uuid.uuid4().hex[:8]}/tone"
    path = f"/api/projects/{hone_server.project}/prompts"
    assert hone_server.post(path, {"name": tone, "type": "text", "prompt": "Kind."})[0] == 201
    opened(page, room, "settings")
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("{{> " + tone + "@latest}} ")
    page.keyboard.type("{{mood}}")
    expect(page.locator(".cm-variable")).to_have_count(2)
    expect(page.locator(".cm-variable-unknown")).to_have_count(0)
    page.get_by_label("Example of mood").fill("calm")
    expect(page.locator(".cm-variable-unknown")).to_have_text("{{company}}")
    link = page.get_by_role("link", name=f"{tone}@latest")
    expect(link).to_be_visible()
    shoot(page, "together-includes")
    page.locator(".cm-include").click(modifiers=["Control"])
    expect(page).to_have_url(re.compile(f"/prompts/{tone}$"))


def test_lists_show_who_writes_now(
    page: Page,
    page_of: Callable[..., Page],
    hone_server: Any,
    room: str,
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    name = room.partition("/together/")[2]
    dana = page_of("Dana", "member")
    opened(dana, room)
    page.goto(f"/p/{hone_server.project}/prompts?q={name}")
    expect(page.get_by_role("row").filter(has_text=name)).to_contain_text("Here now: Dana")
    assert axe(page) == []
    shoot(page, "prompts-here")
    opened(page, room, "drafts")
    here = page.locator(".rv-drafts").first
    expect(here).to_contain_text(re.compile("Here now: .*Dana"))
    shoot(page, "drafts-here")
    dana.goto(f"/p/{hone_server.project}/traces")
    expect(here).not_to_contain_text("Dana, ", timeout=15_000)
    expect(here).not_to_contain_text(", Dana", timeout=15_000)


def test_messages_changed_on_both_sides_are_merged_and_published(
    page: Page, open_page: Callable[..., Page], hone_server: Any
) -> None:
    name = f"e2e/{uuid.uuid4().hex[:8]}"
    said = [("system", "You answer briefly."), ("user", "Be kind."), ("assistant", "I will.")]
    body = {"name": name, "type": "chat"}
    body |= {"prompt": [{"role": role, "content": content} for role, content in said]}
    path = f"/api/projects/{hone_server.project}/prompts"
    status, answer = hone_server.post(path, body)
    assert status == 201, answer
    address = f"/p/{hone_server.project}/together/{name}"
    page.goto(f"{address}?tab=drafts")
    expect(page.locator(".cm-content")).to_have_count(3)
    page.get_by_label("Name of a new draft").fill("side")
    page.keyboard.press("Enter")
    page.wait_for_url("**draft=**")
    expect(page.locator(".page-title .badge")).to_have_text("side")
    expect(page.locator(".cm-content")).to_have_count(3)
    select_line(page, "Be kind.")
    page.keyboard.type("Be warm.")
    page.get_by_role("button", name="Add message").click()
    expect(page.locator(".cm-content")).to_have_count(4)
    page.locator(".cm-content").last.click()
    page.keyboard.type("Thank you.")
    main = open_page()
    main.goto(f"{address}?tab=drafts")
    expect(main.locator(".cm-content")).to_have_count(3)
    select_line(main, "Be kind.")
    main.keyboard.type("Be precise.")
    main.get_by_role("button", name="Move message 3 up").click()
    expect(main.locator(".cm-content").nth(1)).to_have_text("I will.")
    main.get_by_role("button", name="What to do with side").click()
    main.get_by_role("menuitem", name="Merge into this draft").click()
    expect(main.get_by_text("0 of 1 decided")).to_be_visible()
    main.get_by_role("radio", name=re.compile("^This draft")).focus()
    main.keyboard.press("ArrowDown")
    expect(main.get_by_text("1 of 1 decided")).to_be_visible()
    main.keyboard.press("Control+Enter")
    expect(main.get_by_text("Draft side merged")).to_be_visible()
    # What was added after a message stays behind it, wherever that went.
    texts = ["You answer briefly.", "I will.", "Thank you.", "Be warm."]
    expect(main.locator(".cm-content")).to_have_text(texts)
    main.get_by_label("What changed").fill("Warmer")
    main.keyboard.press("Control+Enter")
    expect(main.get_by_text("Version 2 published")).to_be_visible()


def test_a_closed_draft_is_opened_again(page: Page, room: str) -> None:
    opened(page, room, "drafts")
    page.get_by_label("Name of a new draft").fill("side")
    page.keyboard.press("Enter")
    page.wait_for_url("**draft=**")
    expect(editor(page)).to_contain_text("You answer for")
    opened(page, room, "drafts")
    page.get_by_role("button", name="What to do with side").click()
    page.get_by_role("menuitem", name="Close").click()
    page.get_by_text("1 closed").click()
    page.get_by_role("button", name="What to do with side").click()
    page.get_by_role("menuitem", name="Open again").click()
    expect(page.get_by_text("1 closed")).to_have_count(0)
    expect(page.get_by_role("link", name=re.compile("^side on v1"))).to_be_visible()


def test_a_viewer_comments_and_decides_nothing(
    page_of: Callable[..., Page], page: Page, room: str, axe: Callable[[Page], list[str]]
) -> None:
    opened(page, room)
    page.get_by_role("button", name="Propose").click()
    expect(page.get_by_text("Ready to publish.")).to_be_visible()
    viewer = page_of("Vera", "viewer")
    opened(page, room)
    opened(viewer, room)
    expect(viewer.get_by_text("proposes this draft for")).to_be_visible()
    for name in ("Approve", "Ask for changes", "Publish to production"):
        expect(viewer.get_by_role("button", name=name)).to_have_count(0)
    viewer.keyboard.press("m")
    viewer.keyboard.type("Looks good from here.")
    viewer.keyboard.press("Control+Enter")
    expect(page.get_by_text("Looks good from here.")).to_be_visible()
    assert axe(viewer) == []
