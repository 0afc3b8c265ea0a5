"""Everything without a mouse."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

Ask = Callable[..., str]
Shoot = Callable[[Page, str], None]
Visit = Callable[[str], None]

FOCUSED = """() => {
  const element = document.activeElement;
  const name = element.getAttribute("aria-label") || element.textContent;
  return [name, getComputedStyle(element).outlineWidth];
}"""


def test_the_keyboard_goes_everywhere(page: Page, hone_server: Any, visit: Visit) -> None:
    visit("traces")
    expect(page.locator(".tt-trace").first).to_be_visible()
    for key, place in (
        ("p", "prompts"),
        ("l", "playground"),
        ("r", "runs"),
        ("s", "settings/keys"),
        ("t", "traces"),
    ):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(rf"/p/{hone_server.project}/{place}$"))


def test_rows_are_walked_previewed_opened_and_left(page: Page, visit: Visit) -> None:
    visit("traces")
    selected = page.locator('.tt-trace[aria-selected="true"]')
    expect(page.locator(".tt-trace").nth(1)).to_be_visible()
    page.keyboard.press("j")
    expect(selected).to_have_attribute("aria-rowindex", "2")
    page.keyboard.press("j")
    expect(selected).to_have_attribute("aria-rowindex", "3")
    page.keyboard.press("k")
    expect(selected).to_have_attribute("aria-rowindex", "2")
    page.keyboard.press("Space")
    expect(page.get_by_role("complementary", name=re.compile("Preview of"))).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name=re.compile("Preview of"))).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tree")).to_be_visible()
    first = page.url
    page.keyboard.press("[")
    expect(page).not_to_have_url(first)
    expect(page.get_by_role("tree")).to_be_visible()
    page.keyboard.press("]")
    expect(page).to_have_url(first)
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile(r"[?&]o="))
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"/traces\?.*row=[0-9a-f]{32}"))


def test_search_takes_a_slash_and_gives_the_keys_back(page: Page, visit: Visit) -> None:
    visit("traces")
    expect(page.get_by_label("Search traces")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Search traces")).to_be_focused()
    page.keyboard.type("gt")
    expect(page.get_by_label("Search traces")).to_have_value("gt")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Search traces")).not_to_be_focused()


def test_the_palette_goes_searches_and_acts(page: Page, visit: Visit) -> None:
    visit("traces")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Command palette")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("Control+k")
    page.keyboard.type("status:error")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"status=error"))
    page.keyboard.press("Control+k")
    page.keyboard.type("playgr")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/playground$"))


def test_the_keys_are_listed(page: Page, visit: Visit) -> None:
    visit("traces")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("Go to Traces")
    expect(dialog).to_contain_text("Preview the row")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_tab_reaches_the_main_things_with_a_visible_focus(page: Page, visit: Visit) -> None:
    visit("traces")
    expect(page.locator(".tt-trace").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        name, width = page.evaluate(FOCUSED)
        reached.add(name)
        if name not in {"Search traces"}:  # its frame shows the focus
            assert width != "0px", name
    assert {"Search traces", "Time range", "Traces"} <= reached
