"""Signing in, and staying where one wanted to go."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e


def test_a_deep_link_survives_signing_in(open_page: Callable[..., Page], hone_server: Any) -> None:
    page = open_page(signed=False)
    page.goto(f"/p/{hone_server.project}/traces?range=7d&status=ok")
    expect(page.get_by_role("heading", name="Sign in to Hone")).to_be_visible()
    page.get_by_label("Email").fill(hone_server.email)
    page.get_by_label("Password").fill(hone_server.password)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/traces\?range=7d&status=ok$"))
    expect(page.get_by_role("button", name="Remove filter status ok")).to_be_visible()


def test_a_wrong_password_is_told_and_the_email_kept(
    open_page: Callable[..., Page], hone_server: Any
) -> None:
    page = open_page(signed=False)
    page.goto("/login")
    page.get_by_label("Email").fill(hone_server.email)
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Email")).to_have_value(hone_server.email)


def test_signing_in_never_leads_to_another_site(
    open_page: Callable[..., Page], hone_server: Any
) -> None:
    page = open_page()
    page.goto("/login?next=//example.org/")
    expect(page).to_have_url(re.compile(rf"^{re.escape(hone_server.url)}/p/"))


def test_signing_out_needs_two_clicks(open_page: Callable[..., Page], hone_server: Any) -> None:
    page = open_page(signed=False)
    page.goto("/login")
    page.get_by_label("Email").fill(hone_server.email)
    page.get_by_label("Password").fill(hone_server.password)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Account").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page).to_have_url(re.compile(r"/login$"))
    page.goto(f"/p/{hone_server.project}/traces")
    expect(page).to_have_url(re.compile(r"/login\?next="))
