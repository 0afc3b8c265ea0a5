"""A new project: three lines of code, and the first trace appears by itself."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from openai import OpenAI
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

NEW_PROJECT = """async () => {
  const me = await (await fetch("/api/auth/me")).json();
  const token = /csrftoken=([^;]+)/.exec(document.cookie)[1];
  const answer = await fetch("/api/projects", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": token },
    body: JSON.stringify({ name: "Fresh", organization: me.projects[0].organization.slug }),
  });
  return (await answer.json()).slug;
}"""


def test_a_new_project_leads_to_its_first_trace(
    page: Page,
    hone_server: Any,
    visit: Callable[[str], None],
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    visit("traces")
    slug = page.evaluate(NEW_PROJECT)
    page.goto(f"/p/{slug}/traces")
    expect(page.get_by_text("Waiting for your first trace")).to_be_visible()
    expect(page.locator('.live[data-state="open"]').first).to_be_visible()
    assert axe(page) == []
    page.get_by_role("button", name="Make a key and put it in").click()
    code = page.locator(".code code")
    expect(code).to_contain_text(re.compile(r"sk-hone-[\w-]{20,}"))
    shoot(page, "first-trace")
    shown = code.inner_text()
    address, key, model = re.findall(r'(?:base_url|api_key|model)="([^"]+)"', shown)
    with OpenAI(base_url=address, api_key=key, max_retries=0) as client:
        client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "Hi"}], max_tokens=4
        )
    expect(page.locator('.tt-trace[role="row"]')).to_have_count(1)
    expect(page.get_by_role("button", name="Project Fresh")).to_be_visible()
