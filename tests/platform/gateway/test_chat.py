"""The signed-in interface's own door: session and token instead of a key."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from hone.accounts.core.roles import Role
from hone.accounts.models import User
from hone.gateway.models import Connection

pytestmark = pytest.mark.django_db
PATH = "/api/projects/demo/chat/completions"
Settled = Callable[[], Awaitable[None]]
Say = Callable[..., dict[str, Any]]
Traced = Callable[[], list[dict[str, Any]]]
Post = Callable[..., tuple[int, bytes, dict[str, str]]]


@pytest.fixture
def post(settled: Settled) -> Post:
    """One POST in an event loop of its own: status, body, headers."""

    def call(
        body: Any, user: User | None = None, **options: Any
    ) -> tuple[int, bytes, dict[str, str]]:
        client = AsyncClient(enforce_csrf_checks=options.pop("csrf", False))

        async def run() -> tuple[int, bytes, dict[str, str]]:
            headers = dict(options.get("headers", {}))
            if user is not None:
                await client.aforce_login(user)
            if options.get("token"):
                await client.get("/api/auth/me")
                headers["x-csrftoken"] = client.cookies["csrftoken"].value
            response = await client.post(
                PATH, body, content_type="application/json", headers=headers
            )
            parts = (
                [part async for part in response.streaming_content]
                if response.streaming
                else [response.content]
            )
            await settled()
            return response.status_code, b"".join(parts), dict(response.headers)

        return async_to_sync(run)()  # type: ignore[no-any-return]

    return call


def test_bob_gets_his_answer_and_is_the_traces_user(
    post: Post, bob: User, far_connection: Connection, say: Say, traced: Traced
) -> None:
    status, body, headers = post(say(), bob)
    assert status == 200
    assert b"The sea is blue." in body
    root = traced()[0]
    assert (root["trace"], root["user_id"]) == (headers["x-hone-trace-id"], "bob@example.com")


def test_a_stream_is_relayed(post: Post, bob: User, far_connection: Connection, say: Say) -> None:
    status, body, headers = post(say(stream=True), bob)
    assert status == 200
    assert headers["content-type"] == "text/event-stream"
    assert body.endswith(b"data: [DONE]\n\n")


def test_errors_have_openais_shape(
    post: Post, bob: User, far_connection: Connection, say: Say
) -> None:
    status, body, _ = post(say("nobody"), bob)
    assert status == 404
    assert b'"model_not_found"' in body


def test_without_the_token_a_session_is_refused(
    post: Post, bob: User, far_connection: Connection, say: Say
) -> None:
    assert post(say(), bob, csrf=True)[0] == 403


def test_a_browser_with_the_token_is_answered(
    post: Post, bob: User, far_connection: Connection, say: Say
) -> None:
    assert post(say(stream=True), bob, csrf=True, token=True)[0] == 200


def test_a_key_needs_no_token(
    post: Post, far_connection: Connection, say: Say, api_key: Any
) -> None:
    assert post(say(), headers=api_key.bearer, csrf=True)[0] == 200


def test_charlie_and_nobody_are_refused(
    post: Post, charlie: User, far_connection: Connection, say: Say, foreign_key: Any
) -> None:
    assert post(say(), charlie)[0] == 404
    assert post(say(), headers=foreign_key.bearer)[0] == 404
    assert post(say())[0] == 401


def test_a_viewer_only_looks(
    as_role: Callable[[Role], Any], far_connection: Connection, say: Say, post: Post
) -> None:
    as_role(Role.VIEWER)
    assert post(say(), User.objects.get(email__startswith="some-viewer"))[0] == 403


def test_what_is_no_json_is_refused(post: Post, bob: User, far_connection: Connection) -> None:
    assert post(b"{", bob)[0] == 400


def test_a_page_that_is_left_stops_the_answer(
    bob: User, far: Any, far_connection: Connection, say: Say, traced: Traced, settled: Settled
) -> None:
    async def leave() -> None:
        client = AsyncClient()
        await client.aforce_login(bob)
        response = await client.post(
            PATH, say("endless", stream=True), content_type="application/json"
        )
        seen = asyncio.Event()

        async def read() -> None:
            async for _ in response.streaming_content:
                seen.set()

        reading = asyncio.create_task(read())
        await asyncio.wait_for(seen.wait(), 10)
        reading.cancel()  # as Django does when the client hangs up
        await asyncio.gather(reading, return_exceptions=True)
        await asyncio.to_thread(far.hung_up.wait, 10)
        await settled()

    async_to_sync(leave)()
    assert far.hung_up.is_set()
    assert traced()[0]["level"] == "WARNING"
