import asyncio
import threading
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hone.accounts import services
from hone.accounts.core.key_cache import KeyCache
from hone.accounts.models import ApiKey, Project
from hone.accounts.services import keys
from hone.accounts.services.keys import KeyScope, _revocations, reset_cache
from hone.common import broker, clock
from hone.common.database import database_call


def test_a_key_opens_its_project(api_key, project: Project) -> None:
    scope = services.key_resolve(api_key.secret, api_key.row.public_key)
    assert scope is not None
    assert (scope.project_id, scope.project_slug) == (project.pk, "demo")


def test_the_secret_is_stored_only_as_a_keyed_hash(api_key) -> None:
    row = ApiKey.objects.values().get()
    assert api_key.secret not in str(row)
    assert row["secret_hint"].endswith(api_key.secret[-4:])
    assert len(row["secret_hash"]) == 64


@pytest.mark.parametrize(
    "secret",
    ["", "sk-hone-", "sk-hone-wrong", "pk-hone-x", "sk-hone-\x00", "sk-hone-ü", "s" * 10_000],
)
@pytest.mark.django_db
def test_other_texts_open_nothing(secret: str) -> None:
    assert services.key_resolve(secret) is None


def test_a_secret_does_not_open_under_another_public_key(api_key, foreign_key) -> None:
    assert services.key_resolve(api_key.secret, foreign_key.row.public_key) is None


def test_a_known_key_asks_the_database_once(api_key) -> None:
    services.key_resolve(api_key.secret)
    with CaptureQueriesContext(connection) as queries:
        assert services.key_resolve(api_key.secret) is not None
    assert len(queries) == 0


def test_a_revoked_key_opens_nothing_at_once(
    api_key, project: Project, django_capture_on_commit_callbacks
) -> None:
    assert services.key_resolve(api_key.secret) is not None
    with django_capture_on_commit_callbacks(execute=True):
        services.api_key_revoke(project=project, key_id=api_key.row.pk)
    assert services.key_resolve(api_key.secret) is None


def until(condition, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_a_revocation_elsewhere_drops_the_key_here_long_before_it_is_stale(
    api_key, project: Project
) -> None:
    """Another process is played by a plain write and the message that it would send."""
    assert services.key_resolve(api_key.secret) is not None
    channel = _revocations.channel()
    assert until(lambda: broker.client().pubsub_numsub(channel)[0][1] >= 1)
    ApiKey.objects.filter(pk=api_key.row.pk).update(revoked_at=clock.now())
    broker.client().publish(channel, api_key.row.secret_hash)
    assert until(lambda: services.key_resolve(api_key.secret) is None, 2.0)


def test_without_the_message_the_key_lives_no_longer_than_the_cache() -> None:
    now = [100.0]
    cache: KeyCache[str] = KeyCache(5.0, now_s=lambda: now[0])
    cache.put("hash", "scope", cache.generation)
    now[0] = 104.9
    assert cache.get("hash") == "scope"
    now[0] = 105.1
    assert cache.get("hash") is None


def test_a_value_read_before_a_revocation_is_not_cached_after_it() -> None:
    cache: KeyCache[str] = KeyCache(5.0)
    before = cache.generation
    cache.drop("hash")
    cache.put("hash", "scope", before)
    assert cache.get("hash") is None


def test_the_cache_is_bounded() -> None:
    cache: KeyCache[int] = KeyCache(5.0, max_len=3)
    for number in range(10):
        cache.put(str(number), number, cache.generation)
    assert [cache.get(str(number)) for number in range(10)] == [None] * 7 + [7, 8, 9]


def test_the_time_of_use_is_written_at_most_once_a_minute(api_key, monkeypatch) -> None:
    start = clock.now()
    seen = []
    for seconds in (0, 30, 59, 61):
        moment = start + timedelta(seconds=seconds)
        monkeypatch.setattr(clock, "now", lambda moment=moment: moment)
        reset_cache()
        services.key_resolve(api_key.secret)
        seen.append(ApiKey.objects.get().latest_used_at)
    assert seen == [start, start, start, start + timedelta(seconds=61)]


async def test_the_async_way_gives_the_same(transactional_db: None) -> None:
    def make() -> str:
        from_scratch = services.bootstrap(email="a@b.example")
        assert from_scratch.secret_key
        return from_scratch.secret_key

    secret = await database_call(make)
    scope = await services.key_resolve_async(secret)
    assert scope is not None
    assert await services.key_resolve_async(secret + "x") is None
    assert await services.key_resolve_async(secret, "pk-hone-other") is None


async def test_many_who_ask_at_once_ask_the_database_once_and_an_aging_answer_is_renewed_behind(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    scope = KeyScope(1, "demo", 2, "pk-hone-x")

    def resolve(digest: str) -> KeyScope:
        asked.append(digest)
        keys._cache.put(digest, scope, keys._cache.generation)
        return scope

    now = time.monotonic()
    monkeypatch.setattr(keys, "_resolve", resolve)
    monkeypatch.setattr(keys._cache, "now_s", lambda: now)
    secret = "sk-hone-" + "a" * 40
    found = await asyncio.gather(*(services.key_resolve_async(secret) for _ in range(50)))
    assert (found, len(asked)) == ([scope] * 50, 1)
    now += keys.STALE_S * 0.6
    found = await asyncio.gather(*(services.key_resolve_async(secret) for _ in range(50)))
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    assert (found, len(asked)) == ([scope] * 50, 2)
    now += keys.STALE_S * 0.6
    assert keys._cache.get(asked[0]) == scope


async def test_a_key_revoked_while_it_is_asked_for_is_asked_for_again(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [KeyScope(1, "demo", 2, "pk-hone-x"), None]

    def resolve(digest: str) -> KeyScope | None:
        keys._cache.drop(digest)  # the word of a revocation comes meanwhile
        return answers.pop(0)

    monkeypatch.setattr(keys, "_resolve", resolve)
    assert await services.key_resolve_async("sk-hone-" + "b" * 40) is None
    assert answers == []


def test_threads_may_resolve_while_keys_are_dropped() -> None:
    cache: KeyCache[int] = KeyCache(5.0, max_len=50)
    failures: list[BaseException] = []

    def work(offset: int) -> None:
        try:
            for number in range(2000):
                cache.put(str(number % 70), number, cache.generation)
                cache.get(str((number + offset) % 70))
                cache.drop(str(number % 7))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
