"""Run every suite, on this machine's PostgreSQL and Redis if they answer, and on embedded ones."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import redis
from psycopg import sql

ROOT = Path(__file__).parents[1]
POSTGRES = os.environ.get("HONE_CI_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")
# In one order: these tests share one running product and what the earlier ones left in it.
IN_ORDER = ("-p", "no:randomly")
# Once is enough for the rest of them: they do not care who keeps the data.
CARE_WHO_KEEPS = (
    "tests/e2e/browser/test_browser_lists.py",
    "tests/e2e/browser/test_browser_retention.py",
    "tests/e2e/browser/test_browser_together.py",
    "tests/e2e/test_crashes.py",
    "tests/e2e/test_full_disk.py",
    "tests/e2e/test_product.py",
    "tests/e2e/test_restart.py",
)
REDIS = os.environ.get("HONE_CI_REDIS", "redis://127.0.0.1:6379")
# Thousands of tests with real processes on two busy cores: one that fails gets a second try, and
# every second try is printed, so that an unsteady test is seen and mended and fails no whole run.
SECOND_TRY = ("--reruns", "1", "--reruns-delay", "2", "-rsR")


@contextmanager
def own_database() -> Iterator[str | None]:
    """A database of our own on this machine's PostgreSQL, dropped afterwards; else None."""
    name = f"hone_ci_{uuid4().hex[:12]}"
    try:
        admin = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError:
        yield None
        return
    with admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield POSTGRES.rsplit("/", 1)[0] + f"/{name}"
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def own_redis() -> Iterator[str | None]:
    """An empty database of this machine's Redis, emptied afterwards; None where none is free."""
    for number in range(15, 0, -1):
        client = redis.Redis.from_url(f"{REDIS}/{number}", socket_connect_timeout=2)
        try:
            free = client.dbsize() == 0 and client.set("hone-ci", "taken", nx=True)
        except redis.exceptions.ConnectionError:
            yield None
            return
        if free:
            try:
                yield f"{REDIS}/{number}"
            finally:
                client.flushdb()
            return
    yield None


def pytest(title: str, *arguments: str, **environment: str | None) -> int:
    """One pytest run that tells what was skipped or tried twice; returns its exit code."""
    sys.stdout.write(f"\n=== {title}\n")
    sys.stdout.flush()
    env = os.environ | {name: value for name, value in environment.items() if value is not None}
    command = [sys.executable, "-m", "pytest", "-q", *SECOND_TRY, "--durations=15", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def main() -> int:
    """Every suite runs, also after a failure, so that one run shows everything that is broken."""
    # A job in the background inherits "ignore" for Ctrl-C; tests that send it want the default.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    codes = [
        pytest("architecture, engine, wire", "tests/architecture", "tests/engine", "tests/wire")
    ]
    sdk = [sys.executable, ROOT / "scripts" / "test_sdk_versions.py"]
    codes.append(subprocess.run(sdk, check=False).returncode)
    codes.append(pytest("the product, embedded servers", "tests/e2e", *IN_ORDER))
    with own_database() as database, own_redis() as broker:
        on_machine = database is not None and broker is not None
        where = "this machine's PostgreSQL and Redis" if on_machine else "embedded servers"
        codes.append(
            pytest(f"platform, {where}", "tests/platform", DATABASE_URL=database, REDIS_URL=broker)
        )
        if on_machine:
            title = f"the product, {where}"
            codes.append(
                pytest(
                    title,
                    *CARE_WHO_KEEPS,
                    *IN_ORDER,
                    HONE_E2E_DATABASE_URL=database,
                    HONE_E2E_REDIS_URL=broker,
                )
            )
        else:
            sys.stdout.write(
                "PostgreSQL or Redis do not answer here: only the embedded ones were tested\n"
            )
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
