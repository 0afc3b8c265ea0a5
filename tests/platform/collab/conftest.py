import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

sys.path.insert(0, str(Path(__file__).parent))  # for rooms

from rooms import Web, Yjs

from hone.accounts.models import Project, User
from hone.collab.models import Draft
from hone.collab.services import draft_main
from hone.prompts.services import Author, prompt_create


@pytest.fixture(scope="module")
def webs(django_db_setup: None) -> Iterator[list[Web]]:
    """Two web processes on the test's database and Redis, the second without the short way."""
    started = [Web(), Web(plain=True)]
    for web in started:
        web.start()
    for web in started:
        web.until_up()
    yield started
    for web in started:
        web.kill()


@pytest.fixture
def make_draft(project: Project, alice: User) -> Callable[..., Draft]:
    """`make_draft("name", "text")`: the main draft of a new prompt."""

    def make(name: str = "greet", prompt: Any = "Say hello.") -> Draft:
        author = Author("Alice", alice)
        kind = "text" if isinstance(prompt, str) else "chat"
        version = prompt_create(project=project, author=author, name=name, type=kind, prompt=prompt)
        return draft_main(prompt=version.prompt, author=author)

    return make


@pytest.fixture
def cookie_of() -> Callable[[Any], dict[str, str]]:
    """The headers of a signed-in test client's browser."""

    def make(api: Any) -> dict[str, str]:
        name = settings.SESSION_COOKIE_NAME
        return {"cookie": f"{name}={api.cookies[name].value}"}

    return make


@pytest.fixture
async def enter(webs: list[Web]) -> AsyncIterator[Callable[..., Yjs]]:
    """`enter(draft, headers, web=1)`: a client that is not connected yet; it leaves at the end."""
    clients: list[Yjs] = []

    def make(draft: object, headers: dict[str, str], web: int = 0, query: str = "") -> Yjs:
        client = Yjs(lambda: webs[web].room(draft, query), headers)
        clients.append(client)
        return client

    yield make
    for client in clients:
        await client.leave()
