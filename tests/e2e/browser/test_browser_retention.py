"""How long traces are kept and what is erased: told beforehand, asked for, and shown."""

import re
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e


def trace_send(server: Any, days_ago: int, user: str) -> str:
    """A trace of one span, so many days old; its id."""
    trace_id = uuid.uuid4().hex
    start = time.time_ns() - days_ago * 86_400 * 10**9
    span = {
        "traceId": trace_id,
        "spanId": trace_id[:16],
        "name": "aged",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 1),
        "attributes": [{"key": "user.id", "value": {"stringValue": user}}],
    }
    status, body = server.post(
        "/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    )
    assert status == 200, body
    return trace_id


def test_what_is_too_old_goes_and_a_users_traces_when_asked(
    page: Page,
    hone_server: Any,
    shoot: Callable[[Page, str], None],
    axe: Callable[[Page], list[str]],
    wait_until: Callable[..., Any],
) -> None:
    user = f"user-{uuid.uuid4().hex[:6]}"
    old, new = trace_send(hone_server, 700, user), trace_send(hone_server, 1, user)

    def status_of(trace_id: str) -> int:
        return int(hone_server.get(f"/api/projects/{hone_server.project}/traces/{trace_id}")[0])

    assert [status_of(old), status_of(new)] == [200, 200]
    page.goto(f"/p/{hone_server.project}/settings/retention")
    expect(page.get_by_text("Nothing is erased for its age.")).to_be_visible()
    days = page.get_by_label("Keep traces for")
    days.fill("a month")
    expect(page.get_by_role("alert")).to_contain_text("whole days")
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    # How much it is, is counted some seconds after it came.
    told = page.get_by_text(re.compile(r"Saving this erases 1 trace from before"))

    def is_told() -> bool:
        page.reload()
        days.fill("400")
        expect(page.locator(".retention-effect")).to_contain_text("Saving this")
        return told.is_visible()

    wait_until(is_told, "the trace to be counted")
    shoot(page, "settings-retention-told")
    days.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Erase 1 trace now?")
    expect(dialog).to_contain_text("cannot be brought back")
    assert axe(page) == []
    shoot(page, "settings-retention-asked")
    dialog.get_by_role("button", name="Erase and keep it so").click()
    row = page.get_by_role("row").filter(has_text="Traces from before")
    expect(row).to_contain_text("1 trace erased in", timeout=30_000)
    assert [status_of(old), status_of(new)] == [404, 200]

    page.get_by_role("button", name="Erase…").click()
    dialog.get_by_label("User").fill(user)
    shoot(page, "settings-erase-asked")
    assert axe(page) == []
    dialog.get_by_label("User").press("Enter")
    row = page.get_by_role("row").filter(has_text=f"Traces of user {user}")
    expect(row).to_contain_text("1 trace erased in", timeout=30_000)
    assert status_of(new) == 404
    shoot(page, "settings-retention")

    page.get_by_role("button", name="Erase…").click()
    dialog.get_by_label("What goes").select_option("traces")
    dialog.get_by_label("Project").fill("another")
    expect(dialog.get_by_role("button", name="Erase for good")).to_be_disabled()
    page.keyboard.press("Escape")
    days.fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Nothing is erased for its age.")).to_be_visible()
