"""Settings: keys that are shown once, connections, people and what they may do."""

import re
import uuid
from collections.abc import Callable
from typing import Any

import openai
import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e


def settings_url(hone_server: Any, tab: str) -> str:
    return f"/p/{hone_server.project}/settings/{tab}"


def test_a_key_is_shown_once_works_and_is_revoked(
    page: Page, hone_server: Any, shoot: Callable[[Page, str], None]
) -> None:
    name = f"Key {uuid.uuid4().hex[:6]}"
    page.goto(settings_url(hone_server, "keys"))
    expect(page.get_by_role("heading", name="API keys")).to_be_visible()
    page.keyboard.press("n")
    page.get_by_label("Name of the new key").fill(name)
    page.keyboard.press("Enter")
    panel = page.get_by_role("group", name=f"New key {name}")
    expect(panel).to_contain_text("only time the secret is shown")
    secret = panel.locator("dd code").first.inner_text()
    assert secret.startswith("sk-hone-")
    expect(panel.locator("pre")).to_contain_text(secret)
    expect(panel.locator("pre")).to_contain_text(hone_server.model)
    shoot(page, "settings-key-made")
    page.keyboard.press("Escape")
    expect(panel).to_be_visible()
    client = openai.OpenAI(base_url=hone_server.openai().base_url, api_key=secret, max_retries=0)
    assert client.models.list().data

    panel.get_by_role("button", name="I have copied it").click()
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text(f"sk-hone-…{secret[-4:]}")
    page.reload()
    expect(row).to_be_visible()
    assert secret not in page.content()

    row.get_by_role("button", name=f"Revoke {name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke key").click()
    expect(page.get_by_role("status")).to_contain_text(f"{name} is revoked")
    with pytest.raises(openai.AuthenticationError):
        client.models.list()
    page.get_by_text(re.compile("revoked keys?$")).click()
    expect(page.get_by_role("row").filter(has_text=name)).to_be_visible()


def test_a_connection_is_added_tested_changed_and_deleted(
    page: Page, hone_server: Any, shoot: Callable[[Page, str], None]
) -> None:
    name = f"Other {uuid.uuid4().hex[:6]}"
    page.goto(settings_url(hone_server, "connections"))
    local = page.get_by_role("listitem", name=re.compile("local engine", re.I))
    expect(local).to_contain_text(hone_server.model)
    expect(local).to_contain_text("Ready")
    expect(local.get_by_role("button")).to_have_count(0)

    page.keyboard.press("n")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Base URL").fill("nonsense")
    expect(dialog.get_by_role("alert")).to_contain_text("https://")
    dialog.get_by_label("Base URL").fill(str(hone_server.openai().base_url).rstrip("/"))
    dialog.get_by_label("API key").fill(hone_server.secret_key)
    dialog.get_by_role("button", name="Add and test").click()
    row = page.get_by_role("listitem", name=name)
    expect(row).to_contain_text("It answers and has")
    row.get_by_role("button", name=re.compile("^Add the")).click()
    expect(row.locator(".connection-models")).to_contain_text(hone_server.model)
    assert hone_server.secret_key not in page.content()
    shoot(page, "settings-connection")

    row.get_by_role("button", name=f"Edit {name}").click()
    dialog.get_by_label("API key").fill("sk-hone-wrong")
    dialog.get_by_role("button", name="Save and test").click()
    expect(row.locator(".connection-bad")).to_contain_text("401")
    row.get_by_role("button", name=f"Delete {name}").click()
    dialog.get_by_role("button", name="Delete connection").click()
    expect(row).to_have_count(0)


def test_people_come_change_and_go_and_a_viewer_only_looks(
    open_page: Callable[..., Page], hone_server: Any, shoot: Callable[[Page, str], None]
) -> None:
    page = open_page()
    email = f"dana-{uuid.uuid4().hex[:6]}@example.com"
    page.goto(settings_url(hone_server, "members"))
    page.get_by_role("button", name="Add member").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Email").fill(email)
    dialog.get_by_label("Name").fill("Dana")
    dialog.get_by_label("Role").select_option("viewer")
    expect(dialog).to_contain_text("Viewer: reads traces, prompts and runs.")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog).to_contain_text("Dana can sign in")
    password = dialog.locator("dd code").last.inner_text()
    dialog.get_by_role("button", name="I have copied it").click()

    viewer = open_page(signed=False)
    viewer.goto(f"/login?next=/p/{hone_server.project}/prompts")
    viewer.get_by_label("Email").fill(email)
    viewer.get_by_label("Password").fill(password)
    viewer.get_by_role("button", name="Sign in").click()
    viewer.wait_for_url("**/prompts")
    first = viewer.get_by_role("table", name="Prompts").get_by_role("link").first
    expect(first).to_be_visible()
    expect(viewer.get_by_role("button", name="New prompt")).to_have_count(0)
    first.click()
    expect(viewer.get_by_text(re.compile(r"^Version \d+$"))).to_be_visible()
    expect(viewer.get_by_role("button", name=re.compile("^Save"))).to_have_count(0)
    expect(viewer.get_by_role("button", name="Run as batch")).to_have_count(0)
    viewer.goto(f"/p/{hone_server.project}/runs?new=1")
    expect(viewer.get_by_text("You are a viewer here.")).to_be_visible()
    viewer.goto(settings_url(hone_server, "keys"))
    expect(viewer.get_by_text("Seeing the keys is for members.")).to_be_visible()
    viewer.goto(settings_url(hone_server, "masks"))
    expect(viewer.get_by_text("Seeing the masks is for members.")).to_be_visible()
    viewer.goto(settings_url(hone_server, "prices"))
    expect(viewer.get_by_label("What does a model cost?")).to_be_visible()
    expect(viewer.get_by_role("button", name="New price")).to_have_count(0)
    viewer.goto(settings_url(hone_server, "members"))
    expect(viewer.get_by_role("row").filter(has_text=email)).to_contain_text("Viewer")
    expect(viewer.get_by_role("combobox")).to_have_count(0)
    shoot(viewer, "settings-members-viewer")

    row = page.get_by_role("row").filter(has_text=email)
    row.get_by_role("combobox").select_option("admin")
    expect(page.get_by_role("status")).to_contain_text("Dana is admin now")
    viewer.reload()
    expect(viewer.get_by_role("button", name="Add member")).to_be_visible()
    row.get_by_role("button", name="Remove Dana").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(row).to_have_count(0)
    viewer.reload()
    expect(viewer.get_by_text(re.compile("no such project|No project yet"))).to_be_visible()


def test_the_only_owner_stays(page: Page, hone_server: Any) -> None:
    page.goto(settings_url(hone_server, "members"))
    row = page.get_by_role("row").filter(has_text=hone_server.email)
    expect(row.get_by_role("combobox")).to_be_disabled()
    expect(row.get_by_role("button", name="Leave")).to_be_disabled()


def test_tabs_are_links_and_turn_by_keyboard(page: Page, hone_server: Any) -> None:
    page.goto(settings_url(hone_server, "keys"))
    expect(page.get_by_role("heading", name="API keys")).to_be_visible()
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile("/settings/connections$"))
    page.keyboard.press("]")
    expect(page.get_by_role("heading", name="Members")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Connections")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_forms_of_settings(
    open_page: Callable[..., Page],
    hone_server: Any,
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
    theme: str,
) -> None:
    page = open_page(color_scheme=theme)
    found = {}
    for tab, field in (
        ("keys", "Name of the new key"),
        ("connections", "Base URL"),
        ("members", "Email"),
        ("prices", "Models"),
        ("masks", "Pattern"),
    ):
        page.goto(settings_url(hone_server, tab))
        expect(page.locator("main h2").first).to_be_visible()
        page.keyboard.press("n")
        expect(page.get_by_label(field)).to_be_visible()
        shoot(page, f"settings-new-{tab}-{theme}")
        if trouble := axe(page):
            found[tab] = trouble
    assert not found


def test_a_price_is_looked_up_taken_changed_and_deleted(
    page: Page, hone_server: Any, shoot: Callable[[Page, str], None]
) -> None:
    page.goto(settings_url(hone_server, "prices"))
    page.get_by_label("What does a model cost?").fill("gemini-2.5-pro")
    found = page.locator(".intake-found")
    expect(found).to_contain_text(
        re.compile(r"built-in list says.*Input \$1\.25.*over 200,000 input tokens", re.S)
    )
    expect(page).to_have_url(re.compile("model=gemini-2.5-pro"))
    found.get_by_role("button", name="Make it a price of your own").click()
    dialog = page.get_by_role("dialog")
    name = f"Ours {uuid.uuid4().hex[:6]}"
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Price of part 1").first.fill("cheap")
    dialog.get_by_role("button", name="Add price").click()
    expect(dialog.get_by_role("alert")).to_contain_text("“cheap” is no price")
    dialog.get_by_label("Price of part 1").first.fill("1.5")
    shoot(page, "settings-price")
    dialog.get_by_role("button", name="Add price").click()
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text(re.compile(r"Input \$1\.50.*over 200,000 input tokens", re.S))
    expect(found).to_contain_text(f"Your price {name} counts")
    row.get_by_role("button", name=f"Edit {name}").click()
    dialog.get_by_role("button", name="Remove tier 1").click()
    dialog.get_by_label("Models").fill("(")
    dialog.get_by_role("button", name="Save price").click()
    expect(dialog.get_by_role("alert")).to_contain_text("pattern")
    dialog.get_by_label("Models").fill("^nobody$")
    dialog.get_by_role("button", name="Save price").click()
    expect(row).to_contain_text("^nobody$")
    expect(row).not_to_contain_text("200,000")
    row.get_by_role("button", name=f"Delete {name}").click()
    dialog.get_by_role("button", name="Delete price").click()
    expect(row).to_have_count(0)


def test_a_mask_is_tried_put_in_force_and_switched_off(
    page: Page, hone_server: Any, shoot: Callable[[Page, str], None]
) -> None:
    name, secret = f"Codes {uuid.uuid4().hex[:6]}", f"code-{uuid.uuid4().hex[:8]}"
    page.goto(settings_url(hone_server, "masks"))
    expect(page.get_by_role("heading", name="Masks")).to_be_visible()
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Pattern").fill("code-[0-9a-f")
    expect(dialog.get_by_role("alert")).to_contain_text("RE2")
    dialog.get_by_label("Pattern").fill("code-[0-9a-f]+")
    dialog.get_by_label("Try it on a text").fill(f"It is {secret}.")
    expect(dialog.get_by_label("What would be stored")).to_have_text("It is [masked].")
    shoot(page, "settings-mask")
    dialog.get_by_role("button", name="Add mask").click()
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text("code-[0-9a-f]+")
    row.get_by_label(f"{name} is in force").uncheck()
    expect(row).to_contain_text("Off")
    expect(page.get_by_role("status")).to_contain_text(f"{name} is switched off")
    page.reload()
    expect(row.get_by_label(f"{name} is in force")).not_to_be_checked()
    row.get_by_role("button", name=f"Delete {name}").click()
    dialog.get_by_role("button", name="Delete mask").click()
    expect(row).to_have_count(0)


def test_an_admin_protects_a_label_and_a_member_is_refused(
    page: Page,
    open_page: Callable[..., Page],
    hone_server: Any,
    axe: Callable[[Page], list[str]],
    shoot: Callable[[Page, str], None],
) -> None:
    label, name = f"live-{uuid.uuid4().hex[:6]}", f"e2e/{uuid.uuid4().hex[:8]}"
    prompts = f"/api/projects/{hone_server.project}/prompts"
    body = {"name": name, "type": "text", "prompt": "Hi", "labels": [label]}
    assert hone_server.post(prompts, body)[0] == 201
    hone_server.post(f"{prompts}/{name}/versions", {"prompt": "Hello"})
    page.goto(settings_url(hone_server, "prompts"))
    row = page.get_by_role("row").filter(has_text=label)
    expect(row).to_contain_text("1 prompt")
    row.get_by_label(f"Only admins move {label}").check()
    expect(page.get_by_role("status")).to_contain_text(f"Only admins move {label} now")
    expect(row).to_contain_text("Protected")
    row.get_by_label(f"Approvals that {label} needs").select_option("2")
    expect(page.get_by_role("status")).to_contain_text(f"{label} needs 2 approvals now")
    page.get_by_label("Another label").fill("latest")
    expect(page.get_by_role("alert")).to_contain_text("nobody moves it")
    page.get_by_label("Another label").fill(f"{label}-next")
    page.keyboard.press("Enter")
    expect(page.get_by_label(f"Only admins move {label}-next")).to_be_visible()
    assert axe(page) == []
    shoot(page, "settings-prompts")
    page.set_viewport_size({"width": 390, "height": 844})
    wide = "element => element.scrollWidth - element.clientWidth"
    for place in (page.locator(".labels-table"), page.locator("html")):
        assert place.evaluate(wide) <= 0, "it scrolls sideways on a phone"
    expect(row.first).to_be_visible()
    shoot(page, "settings-prompts-phone")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.reload()
    expect(page.get_by_label(f"Approvals that {label} needs")).to_have_value("2")
    expect(page.get_by_label(f"Only admins move {label}", exact=True)).to_be_checked()

    email = f"mia-{uuid.uuid4().hex[:6]}@example.com"
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    made = page.request.post(
        f"/api/projects/{hone_server.project}/members",
        data={"email": email, "name": "Mia", "role": "member", "password": "correct horse staple"},
        headers={"x-csrftoken": cookies["csrftoken"], "referer": hone_server.url},
    )
    assert made.ok, made.text()
    member = open_page(signed=False, color_scheme="dark")
    member.goto(f"/login?next=/p/{hone_server.project}/settings/prompts")
    member.get_by_label("Email").fill(email)
    member.get_by_label("Password").fill("correct horse staple")
    member.get_by_role("button", name="Sign in").click()
    expect(member.get_by_text("Changing this is for admins and owners.")).to_be_visible()
    expect(member.get_by_label(f"Only admins move {label}", exact=True)).to_be_disabled()
    expect(member.get_by_label(f"Approvals that {label} needs")).to_be_disabled()
    expect(member.get_by_label("Another label")).to_have_count(0)
    shoot(member, "settings-prompts-dark")
    member.goto(settings_url(hone_server, "masks"))
    expect(member.get_by_text("Changing masks is for admins and owners.")).to_be_visible()
    expect(member.get_by_text("Nothing is masked")).to_be_visible()
    expect(member.get_by_role("button", name="New mask")).to_have_count(0)
    member.goto(f"/p/{hone_server.project}/prompts/{name}?tab=versions")
    member.get_by_role("button", name="Actions for version 2").first.click()
    expect(member.get_by_role("menu")).to_contain_text(f"Only admins move {label}")
    expect(member.get_by_role("menuitem", name=label).first).to_be_disabled()
    member.get_by_role("menuitem", name="New label…").click()
    member.get_by_role("dialog").get_by_role("textbox").fill(label)
    member.keyboard.press("Enter")
    expect(member.get_by_role("status")).to_contain_text(f"'{label}' is protected")

    page.get_by_label(f"Only admins move {label}", exact=True).uncheck()
    expect(page.get_by_role("status")).to_contain_text(f"Members move {label} again")
    page.get_by_label(f"Approvals that {label} needs").select_option("0")
    expect(page.get_by_role("status")).to_contain_text(f"{label} needs no approval now")
