"""Nothing serious or critical for axe, in both themes, at three sizes; screenshots are kept."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

SIZES = {"desktop": (1440, 900), "tablet": (1024, 768), "phone": (390, 844)}
PAGES = {
    "traces": "traces",
    "prompts": "prompts",
    "playground": "playground",
    "datasets": "datasets",
    "runs": "runs",
    "keys": "settings/keys",
    "connections": "settings/connections",
    "members": "settings/members",
    "prices": "settings/prices?model=gpt-4o",
    "masks": "settings/masks",
    "observations": "observations",
}


def settle(page: Page) -> None:
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator('[aria-busy="true"]')).to_have_count(0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    open_page: Callable[..., Page],
    hone_server: Any,
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
    theme: str,
    size: str,
) -> None:
    width, height = SIZES[size]
    page = open_page(color_scheme=theme, viewport={"width": width, "height": height})
    project = f"/p/{hone_server.project}"
    traces = hone_server.get(f"/api/projects/{hone_server.project}/traces?limit=1")[1]["data"]
    prompts = hone_server.get(f"/api/projects/{hone_server.project}/prompts")[1]["data"]
    addresses = {
        **PAGES,
        "trace": f"traces/{traces[0]['id']}",
        "trace-details": f"traces/{traces[0]['id']}?view=details",
        "trace-graph": f"traces/{traces[0]['id']}?view=graph",
        "prompt": f"prompts/{prompts[0]['name']}",
        "playground-prompt": f"playground?prompt={prompts[0]['name']}",
        "preview": f"traces?row={traces[0]['id']}&peek=1",
    }
    found = {}
    for name, path in addresses.items():
        page.goto(f"{project}/{path}")
        settle(page)
        if name == "preview":
            expect(page.locator(".preview .turn").first).to_be_visible()
        shoot(page, f"{name}-{size}-{theme}")
        if trouble := axe(page):
            found[name] = trouble
    assert not found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_floats_is_accessible_too(
    open_page: Callable[..., Page], hone_server: Any, axe: Callable[[Page], list[str]], theme: str
) -> None:
    page = open_page(color_scheme=theme)
    page.goto(f"/p/{hone_server.project}/traces")
    settle(page)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert axe(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert axe(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_role("menu")).to_be_visible()
    assert axe(page) == []


def test_the_sign_in_page_is_accessible(
    open_page: Callable[..., Page],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    for theme in ("light", "dark"):
        page = open_page(signed=False, color_scheme=theme)
        page.goto("/login")
        expect(page.get_by_role("heading", name="Sign in to Hone")).to_be_visible()
        shoot(page, f"login-{theme}")
        assert axe(page) == []
