"""Nothing serious or critical for axe: every page, with data and without, in both themes."""

import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

SOURCE = Path(__file__).parents[3] / "frontend/src"
SIZES = {"desktop": (1440, 900), "tablet": (1024, 768), "phone": (390, 844)}
# Colors are a matter of the theme and layout one of the size: both ends are seen, and all pairs of
# them where HONE_LOOKS is "all" (a minute each).
LOOKS = [("desktop", "light"), ("phone", "dark")]
if os.environ.get("HONE_LOOKS") == "all":
    LOOKS = [(size, theme) for size in SIZES for theme in ("light", "dark")]
PAGES = {
    "traces": "traces",
    "observations": "observations",
    "sessions": "sessions",
    "session": "sessions/visit-1",
    "users": "users",
    "user": "users/ada",
    "prompts": "prompts",
    "prompt-new": "prompts?new=1",
    "playground": "playground",
    "datasets": "datasets",
    "experiments": "datasets?tab=experiments",
    "runs": "runs",
    "run-new": "runs?new=1",
    "keys": "settings/keys",
    "connections": "settings/connections",
    "members": "settings/members",
    "labels": "settings/prompts",
    "prices": "settings/prices?model=gpt-4o",
    "masks": "settings/masks",
    "retention": "settings/retention",
}
# What a project without anything shows; the settings look the same there.
EMPTY = ("traces", "observations", "sessions", "users", "prompts", "datasets", "runs", "compare")
# Only leads on to a page of the list.
LEADS_ON = {"/datasets/:datasetId/runs/:runId"}


def settle(page: Page) -> None:
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator('[aria-busy="true"]')).to_have_count(0)


@pytest.fixture(scope="module")
def pages(hone_server: Any) -> dict[str, str]:
    """Name to address below the project: all pages, those of one thing with a thing of the demo."""
    project = f"/api/projects/{hone_server.project}"
    first, second = hone_server.get(f"{project}/traces?limit=2")[1]["data"]
    prompt = hone_server.get(f"{project}/prompts")[1]["data"][0]["name"]
    dataset, experiment = made_dataset(hone_server, first["id"])
    body: dict[str, Any] = {"name": "For axe", "prompt": {"name": "summarize", "version": 1}}
    body |= {"model": hone_server.model}
    body |= {"parameters": {"max_tokens": 4}, "inputs": [{"text": "The sea is wide."}]}
    status, run = hone_server.post(f"{project}/runs", body)
    assert status == 202, run
    return {
        **PAGES,
        "trace": f"traces/{first['id']}",
        "trace-details": f"traces/{first['id']}?view=details",
        "trace-graph": f"traces/{first['id']}?view=graph",
        "trace-said": f"traces/{first['id']}?view=said",
        "compare": f"compare?a={first['id']}&b={second['id']}",
        "prompt": f"prompts/{prompt}",
        "prompt-versions": f"prompts/{prompt}?tab=versions",
        "room": f"together/{prompt}",
        "playground-prompt": f"playground?prompt={prompt}",
        "run": f"runs/{run['id']}",
        "dataset": f"datasets/{dataset}",
        "dataset-runs": f"datasets/{dataset}?tab=runs",
        "experiment": f"experiments/{experiment}",
        "preview": f"traces?row={first['id']}&peek=1",
    }


def made_dataset(hone_server: Any, trace: str) -> tuple[str, str]:
    """A dataset with an item that an experiment has answered; the ids of both."""
    project = f"/api/projects/{hone_server.project}"
    name = f"e2e/{uuid.uuid4().hex[:8]}"
    status, dataset = hone_server.post(f"{project}/datasets", {"name": name})
    assert status == 201, dataset
    body = {"input": {"question": "Capital of France?"}, "expected_output": "Paris"}
    status, item = hone_server.post(f"{project}/datasets/{dataset['id']}/items", body)
    assert status == 201, item
    link = {"runName": "baseline", "datasetItemId": item["id"], "traceId": trace}
    answer = httpx.post(
        f"{hone_server.url}/api/public/dataset-run-items",
        json=link,
        auth=(hone_server.public_key, hone_server.secret_key),
    )
    assert answer.status_code == 200, answer.text
    return dataset["id"], answer.json()["datasetRunId"]


def test_every_page_of_the_router_is_looked_at(pages: dict[str, str]) -> None:
    addresses = ["/" + address.split("?")[0] for address in pages.values()]
    routes = re.findall(r'page\("([^"]+)"', (SOURCE / "app/routes.tsx").read_text())
    assert len(routes) > 15
    for route in set(routes) - LEADS_ON:
        shape = re.sub(r":\w+", "[^/]+", route).replace("/*", "/.+")
        assert any(re.fullmatch(shape, address) for address in addresses), route
    settings = (SOURCE / "features/settings/settings-page.tsx").read_text()
    tabs = set(re.findall(r'{ id: "(\w+)", label:', settings))
    assert len(tabs) > 4
    assert {f"/settings/{tab}" for tab in tabs} <= set(addresses)


@pytest.mark.parametrize(("size", "theme"), LOOKS)
def test_axe_finds_nothing_serious(
    open_page: Callable[..., Page],
    hone_server: Any,
    pages: dict[str, str],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
    theme: str,
    size: str,
) -> None:
    width, height = SIZES[size]
    page = open_page(color_scheme=theme, viewport={"width": width, "height": height})
    found = {}
    for name, path in pages.items():
        page.goto(f"/p/{hone_server.project}/{path}")
        settle(page)
        if name == "preview":
            expect(page.locator(".preview .turn").first).to_be_visible()
        if name == "room":
            expect(page.locator(".cm-content").first).to_be_visible()
        shoot(page, f"{name}-{size}-{theme}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        if trouble := axe(page):
            found[name] = trouble
    assert not found


@pytest.mark.parametrize(("size", "theme"), LOOKS)
def test_pages_without_anything_are_accessible_and_say_what_to_do(
    open_page: Callable[..., Page],
    hone_server: Any,
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
    theme: str,
    size: str,
) -> None:
    width, height = SIZES[size]
    page = open_page(color_scheme=theme, viewport={"width": width, "height": height})
    page.goto(f"/p/{hone_server.project}/runs")
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    answer = page.request.post(
        "/api/projects",
        data={"name": "Nothing yet"},
        headers={"x-csrftoken": cookies["csrftoken"], "referer": hone_server.url},
    )
    assert answer.ok, answer.text()
    found = {}
    for name in EMPTY:
        page.goto(f"/p/{answer.json()['slug']}/{name}")
        settle(page)
        expect(page.locator(".empty h2")).to_be_visible()
        shoot(page, f"empty-{name}-{size}-{theme}")
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
