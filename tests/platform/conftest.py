"""Three people, a project, keys, and the servers behind them.

Alice owns, Bob is on the team, Charlie has no access (he owns a house of his own). The servers are
those of DATABASE_URL and REDIS_URL, else embedded ones for this session.
"""

import asyncio
import ctypes
import inspect
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson
import pytest
import pytest_django
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import connection
from django.test import Client

from hone.accounts import services
from hone.accounts.core.roles import Role
from hone.accounts.models import ApiKey, Membership, Organization, Project, User
from hone.accounts.services import keys
from hone.common import broker
from hone.common.asgi import App, Message
from hone.common.broker import client as redis_client
from hone.prompts.services import serving
from hone.supervisor.child import Command
from hone.supervisor.datadir import DataDir, data_dir_open
from hone.supervisor.postgres import Postgres
from hone.supervisor.valkey import Valkey

PASSWORD = "correct horse battery"
PATIENCE_S = 60.0
# Test data need not survive a crash of the machine.
FAST = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")


@contextmanager
def running(
    command: Command, ready: Callable[[int], bool], extra: tuple[str, ...] = ()
) -> Iterator[None]:
    """The server as a child process, from when it answers to the end of the block."""
    account: dict[str, Any] = {} if command.user is None else {"user": command.user}
    process = subprocess.Popen(
        [*command.argv, *extra],
        env=dict(command.env),
        cwd=command.cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # It must not outlive a suite that is killed (prctl PR_SET_PDEATHSIG).
        preexec_fn=partial(ctypes.CDLL(None).prctl, 1, command.kill_signal),
        **account,
    )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not ready(process.pid):
            assert process.poll() is None, f"{command.name} ended with {process.returncode}"
            assert time.monotonic() < deadline, f"{command.name} is not ready"
            time.sleep(0.02)
        yield
    finally:
        process.send_signal(command.stop_signal)
        process.wait(PATIENCE_S)


@pytest.fixture(scope="session")
def servers() -> Iterator[None]:
    """PostgreSQL and Redis answer at the addresses of the settings."""
    with ExitStack() as stack:
        if settings.EMBEDDED_DATABASE or settings.EMBEDDED_REDIS:
            data = data_dir_open(settings.HONE_TEST_DIR)
            stack.callback(shutil.rmtree, data.root, ignore_errors=True)
        if settings.EMBEDDED_DATABASE:
            stack.enter_context(embedded_postgres(data))
        if settings.EMBEDDED_REDIS:
            valkey = Valkey(data)
            stack.enter_context(running(valkey.command(), lambda _: valkey.is_ready()))
        yield


@contextmanager
def embedded_postgres(data: DataDir) -> Iterator[None]:
    postgres = Postgres(data)
    postgres.prepare()
    with running(postgres.command(), postgres.is_ready, FAST):
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, servers: None
) -> None:
    """The database fixtures of pytest-django come after the servers."""


@pytest.fixture(autouse=True)
def fresh_process_state(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing cached in the process outlives a test; neither do keys in Redis."""
    keys.reset_cache()
    serving.reset_cache()
    yield
    keys.reset_cache()
    serving.reset_cache()
    if "servers" in request.fixturenames:
        for name in redis_client().scan_iter(broker.key("*")):
            redis_client().delete(name)


@pytest.fixture(autouse=True)
def emptied_after_commits(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test committed into tables that Django does not know, and so does not empty, goes."""
    marker = request.node.get_closest_marker("django_db")
    marked = marker is not None and marker.kwargs.get("transaction", False)
    if not marked and "transactional_db" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("transactional_db")
    yield
    with connection.cursor() as cursor:
        ours = set(connection.introspection.django_table_names()) | {"django_migrations"}
        tables = connection.introspection.get_table_list(cursor)
        # Type "t" leaves out partitions, which their table stands for.
        others = [table.name for table in tables if table.type == "t" and table.name not in ours]
        # Asking is much quicker than truncating what is empty.
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})" for name in others
            )
        )
        if full := [name for (name,) in cursor.fetchall()]:
            cursor.execute(f"TRUNCATE {', '.join(full)} CASCADE")


@pytest.fixture
async def broker_closed() -> AsyncIterator[None]:
    yield
    await broker.aclose()


@pytest.fixture(autouse=True)
def broker_closed_after_async_tests(request: pytest.FixtureRequest) -> None:
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        request.getfixturevalue("broker_closed")


def make_user(name: str) -> User:
    user = User(email=f"{name}@example.com", name=name.capitalize())
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def alice(db: None) -> User:
    return make_user("alice")


@pytest.fixture
def bob(db: None) -> User:
    return make_user("bob")


@pytest.fixture
def charlie(db: None) -> User:
    return make_user("charlie")


@pytest.fixture
def organization(alice: User, bob: User) -> Organization:
    organization = services.organization_create(name="Acme", slug="acme", owner=alice)
    Membership.objects.create(organization=organization, user=bob, role=Role.MEMBER)
    return organization


@pytest.fixture
def project(organization: Organization) -> Project:
    """Alice's project, slug "demo"."""
    return services.project_create(organization=organization, name="Demo", slug="demo")


@pytest.fixture
def foreign_project(charlie: User) -> Project:
    """Charlie's project, slug "elsewhere"; neither Alice nor Bob may see it."""
    other = services.organization_create(name="Other", slug="other", owner=charlie)
    return services.project_create(organization=other, name="Elsewhere", slug="elsewhere")


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None, django_db_blocker: pytest_django.DjangoDbBlocker
) -> Iterator[None]:
    """A connection that a thread of some test left open does not keep the database from going."""
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@dataclass(frozen=True)
class Key:
    """A key with the secret that only its creator sees."""

    row: ApiKey
    secret: str

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.secret}"}


@pytest.fixture
def api_key(project: Project, alice: User) -> Key:
    return Key(*services.api_key_create(project=project, name="test", created_by=alice))


@pytest.fixture
def foreign_key(foreign_project: Project, charlie: User) -> Key:
    return Key(*services.api_key_create(project=foreign_project, name="c", created_by=charlie))


class Api(Client):
    """Django's test client for JSON; `api.post(path, {...})`, answers have `.json()`."""

    def generic(  # type: ignore[override]
        self, method: str, path: str, data: Any = b"", content_type: str = "", **extra: Any
    ) -> Any:
        body = data if isinstance(data, bytes | str) else orjson.dumps(data)
        kind = (
            "application/json" if content_type in {"", "application/octet-stream"} else content_type
        )
        return super().generic(method, path, body, kind, **extra)

    def post(self, path: str, data: Any = b"", content_type: str = "", **extra: Any) -> Any:  # type: ignore[override]
        return self.generic("POST", path, data, content_type, **extra)


def signed_in(user: User) -> Api:
    api = Api()
    api.force_login(user)
    return api


@pytest.fixture
def as_alice(alice: User, project: Project) -> Api:
    return signed_in(alice)


@pytest.fixture
def as_bob(bob: User, project: Project) -> Api:
    return signed_in(bob)


@pytest.fixture
def as_charlie(charlie: User, project: Project) -> Api:
    return signed_in(charlie)


@pytest.fixture
def as_nobody(db: None) -> Api:
    return Api()


@pytest.fixture
def as_key(api_key: Key) -> Api:
    return Api(headers=api_key.bearer)


@pytest.fixture
def as_role(organization: Organization, project: Project) -> Callable[[Role], Api]:
    """A new person of the given role in Alice's organization, signed in."""

    def make(role: Role) -> Api:
        user = make_user(f"some-{role.value}")
        Membership.objects.create(organization=organization, user=user, role=role)
        return signed_in(user)

    return make


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        return orjson.loads(self.body)


def call_asgi(
    app: App,
    method: str,
    path: str,
    *,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    query: str = "",
) -> Answer:
    """One request to a raw ASGI application, run in this thread: it sees the test's transaction."""
    answer = Answer()
    pending = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not pending:
            await asyncio.Event().wait()  # the client stays until it has its answer
        return pending.pop()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    given = {"content-length": str(len(body)), **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "scheme": "http",
        "headers": [(k.lower().encode(), v.encode()) for k, v in given.items()],
        "client": ("127.0.0.1", 50000),
        "server": ("testserver", 80),
    }

    async def call() -> None:
        try:
            await app(scope, receive, send)
        finally:
            await broker.aclose()

    async_to_sync(call)()
    return answer


@pytest.fixture
def asgi() -> Callable[..., Answer]:
    """`asgi(app, "POST", "/v1/traces", body=..., headers=...)` gives status, headers, body."""
    return call_asgi
