"""A real Chromium against a real Hone: what a person sees, by mouse and by keyboard."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

ROOT = Path(__file__).parents[3]
AXE = ROOT / "frontend/node_modules/axe-core/axe.min.js"
SHOTS = ROOT / "artifacts/screenshots"
CHROMIUM = (os.environ.get("HONE_CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP = {"width": 1440, "height": 900}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = next((path for name in CHROMIUM if name and (path := shutil.which(name))), None)
    if executable is None:
        pytest.fail(
            "Chromium is not installed: `apt-get install chromium`, or name it in HONE_CHROMIUM"
        )
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def signed_in(browser: Browser, hone_server: Any) -> dict[str, Any]:
    """Cookies of the demo's account, got by signing in on the page."""
    context = browser.new_context(base_url=hone_server.url, viewport=DESKTOP)
    page = context.new_page()
    page.goto("/login")
    page.get_by_label("Email").fill(hone_server.email)
    page.get_by_label("Password").fill(hone_server.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/p/**/traces")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def open_page(
    browser: Browser, hone_server: Any, signed_in: dict[str, Any]
) -> Iterator[Callable[..., Page]]:
    """Makes pages of the signed-in account; a console error or a 5xx fails the test."""
    contexts: list[BrowserContext] = []
    troubles: list[str] = []

    def make(*, signed: bool = True, **options: Any) -> Page:
        options = {"viewport": DESKTOP, **options}
        state = signed_in if signed else None
        context = browser.new_context(base_url=hone_server.url, storage_state=state, **options)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
        page.on(
            "response",
            lambda r: troubles.append(f"{r.status} {r.url}") if r.status >= 500 else None,
        )
        return page

    yield make
    for context in contexts:
        context.close()
    assert not troubles


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    return open_page()


@pytest.fixture
def ask(hone_server: Any) -> Callable[..., str]:
    """One call through the OpenAI SDK; gives the id of its trace."""

    def call(question: str, *, system: str | None = None, **options: Any) -> str:
        messages = [{"role": "system", "content": system}] if system else []
        with hone_server.openai() as client:
            answer = client.chat.completions.with_raw_response.create(
                model=hone_server.model,
                messages=[*messages, {"role": "user", "content": question}],
                **{"max_tokens": 8, **options},
            )
            return str(answer.headers["x-hone-trace-id"])

    return call


@pytest.fixture
def visit(page: Page, hone_server: Any) -> Callable[[str], None]:
    """Goes to a page of the demo project and waits until it is there."""

    def go(path: str) -> None:
        page.goto(f"/p/{hone_server.project}/{path}")
        expect(page.locator("h1")).to_be_visible()

    return go


@pytest.fixture
def shoot() -> Callable[[Page, str], None]:
    def save(page: Page, name: str) -> None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"{name}.png")

    return save


@pytest.fixture(scope="session")
def axe() -> Callable[[Page], list[str]]:
    """Serious and critical findings of axe-core on what the page shows now."""
    source = AXE.read_text()

    def check(page: Page) -> list[str]:
        page.evaluate(source)  # evaluated, not added as a script: the page's CSP stays in force
        found = page.evaluate("async () => (await axe.run()).violations")
        return [
            f"{violation['id']} ({violation['impact']}): {violation['help']} — "
            + json.dumps(
                [(node["target"], node["failureSummary"]) for node in violation["nodes"][:3]]
            )
            for violation in found
            if violation["impact"] in {"serious", "critical"}
        ]

    return check
