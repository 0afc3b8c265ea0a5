"""Values are given only while they are known to be true."""

import pytest

from hone.prompts.core import served_cache
from hone.prompts.core.served_cache import Moment, ServedCache, mark_of

EPOCH = 77
A, B, INNER = mark_of("a"), mark_of("b"), mark_of("inner")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> ServedCache[str]:
    """Project 1 at count 5 with `a`, which contains `inner`, and `b`."""
    made: ServedCache[str] = ServedCache(bound_s=0.8, refresh_s=0.25, max_bytes=100, now_s=clock)
    put(made, "a", "first", names={"a", "inner"})
    put(made, "b", "other", names={"b"})
    return made


def put(
    cache: ServedCache[str],
    key: str,
    value: str,
    *,
    names: set[str] | None = None,
    count: int = 5,
    read_at: float | None = None,
    epoch: int = EPOCH,
    num_bytes: int = 10,
) -> None:
    at = cache.now_s() if read_at is None else read_at
    moment = Moment(epoch, count, at)
    cache.put(1, key, value, names=names or {key}, moment=moment, num_bytes=num_bytes)


def look(
    cache: ServedCache[str],
    count: int = 5,
    changed: dict[int, int] | None = None,
    *,
    read_at: float | None = None,
    since: int | None = 5,
    epoch: int = EPOCH,
) -> None:
    at = cache.now_s() if read_at is None else read_at
    cache.checked(1, Moment(epoch, count, at), since=since, changed=changed or {})


def test_a_value_is_given_until_the_bound(cache: ServedCache[str], clock: Clock) -> None:
    assert cache.get(1, "a") == "first"
    clock.now += 0.79
    assert (cache.get(1, "a"), cache.is_aging(1)) == ("first", True)
    clock.now += 0.02
    assert cache.get(1, "a") is None
    assert cache.may_hold(1, "a")


def test_a_look_that_finds_no_change_lets_it_live_on(cache: ServedCache[str], clock: Clock) -> None:
    clock.now += 0.7
    look(cache)
    clock.now += 0.7
    assert cache.get(1, "a") == "first"


def test_a_look_ends_what_is_made_of_what_changed_and_nothing_else(
    cache: ServedCache[str], clock: Clock
) -> None:
    clock.now += 0.7
    look(cache, 6, {INNER: 6})
    assert (cache.get(1, "a"), cache.may_hold(1, "a")) == (None, False)
    assert cache.get(1, "b") == "other"
    put(cache, "a", "second", names={"a", "inner"}, count=6)
    assert cache.get(1, "a") == "second"
    clock.now += 0.01
    look(cache, 7, {B: 7}, since=6)
    assert (cache.get(1, "a"), cache.get(1, "b")) == ("second", None)


def test_a_word_of_a_change_ends_it_at_once(cache: ServedCache[str], clock: Clock) -> None:
    began = clock.now
    clock.now += 0.01
    cache.told(1, INNER)
    assert (cache.get(1, "a"), cache.get(1, "b")) == (None, "other")
    look(cache, read_at=began)  # a look that began before the word says nothing
    assert cache.get(1, "a") is None
    put(cache, "a", "late", names={"a", "inner"}, read_at=began)  # neither does such a read
    assert cache.get(1, "a") is None
    clock.now += 0.01
    look(cache)
    assert cache.get(1, "a") == "late"


def test_a_word_without_a_name_means_all_of_the_project(
    cache: ServedCache[str], clock: Clock
) -> None:
    clock.now += 0.01
    cache.told(2)
    assert cache.get(1, "a") == "first"
    cache.told(1)
    assert (cache.get(1, "a"), cache.get(1, "b"), cache.may_hold(1, "a")) == (None, None, True)
    clock.now += 0.01
    look(cache)
    assert cache.get(1, "a") == "first"
    clock.now += 0.01
    cache.told_all()
    assert cache.get(1, "a") is None


def test_a_word_before_the_first_read_counts_too(clock: Clock) -> None:
    cache: ServedCache[str] = ServedCache(bound_s=0.8, refresh_s=0.25, max_bytes=100, now_s=clock)
    began = clock.now
    clock.now += 0.01
    cache.told(1, A)
    put(cache, "a", "old", read_at=began)
    assert cache.get(1, "a") is None


def test_a_slow_read_never_replaces_a_newer_one(cache: ServedCache[str], clock: Clock) -> None:
    put(cache, "b", "second", count=6)
    put(cache, "b", "late", count=5)
    assert cache.get(1, "b") == "second"


def test_a_slow_read_of_what_changed_meanwhile_is_not_given(
    cache: ServedCache[str], clock: Clock
) -> None:
    began = clock.now
    clock.now += 0.1
    look(cache, 9, {mark_of("c"): 8})
    put(cache, "c", "slow", count=7, read_at=began)
    assert cache.get(1, "c") is None
    put(cache, "d", "untouched", count=7, read_at=began)
    assert cache.get(1, "d") == "untouched"


def test_a_read_newer_than_the_latest_look_holds(cache: ServedCache[str], clock: Clock) -> None:
    put(cache, "c", "new", count=8)
    clock.now += 0.1
    look(cache, 9, {mark_of("c"): 8, B: 9})
    assert (cache.get(1, "c"), cache.get(1, "b"), cache.get(1, "a")) == ("new", None, "first")


def test_looks_that_land_in_another_order_lose_no_change(
    cache: ServedCache[str], clock: Clock
) -> None:
    clock.now += 0.1
    early = clock.now
    clock.now += 0.1
    look(cache, 8, {A: 7, B: 8})
    look(cache, 7, {A: 7}, read_at=early)
    assert (cache.get(1, "a"), cache.get(1, "b"), cache.count(1)) == (None, None, 8)


def test_another_epoch_begins_anew(cache: ServedCache[str], clock: Clock) -> None:
    """A database that was restored counts from the beginning; what is gone is in no change."""
    clock.now += 0.1
    look(cache, 900, {B: 7}, epoch=78)
    assert (cache.get(1, "a"), cache.get(1, "b"), cache.count(1)) == (None, None, 900)
    put(cache, "a", "restored", count=900, epoch=78)
    assert cache.get(1, "a") == "restored"
    put(cache, "a", "of the past", count=901, epoch=EPOCH, read_at=clock.now - 0.05)
    assert cache.get(1, "a") == "restored"


def test_a_count_that_went_back_begins_anew(cache: ServedCache[str], clock: Clock) -> None:
    """As after a return to an older copy of the same database."""
    look(cache, 9, {A: 8})
    clock.now += 0.1
    look(cache, 5, since=9)
    assert (cache.get(1, "b"), cache.count(1)) == (None, 5)
    put(cache, "b", "back", count=5)
    assert cache.get(1, "b") == "back"


def test_too_many_changes_are_no_longer_told_apart(
    cache: ServedCache[str], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_cache, "MAX_MARKS", 3)
    put(cache, "b", "other", count=5)
    clock.now += 0.1
    look(cache, 9, {number: 6 + number for number in range(4)})
    assert (cache.get(1, "a"), cache.get(1, "b")) == (None, None)
    clock.now += 0.1
    put(cache, "a", "again", count=9)
    assert cache.get(1, "a") == "again"


def test_it_holds_no_more_than_it_may(cache: ServedCache[str], clock: Clock) -> None:
    for number in range(20):
        put(cache, str(number), str(number))
    found = [cache.get(1, str(n)) for n in range(20)]
    assert found == [None] * 10 + [str(n) for n in range(10, 20)]
    put(cache, "big", "b", num_bytes=101)
    assert cache.get(1, "big") is None
