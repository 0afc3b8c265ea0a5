"""Values are given only while they are known to be true."""

import pytest

from hone.prompts.core.served_cache import ServedCache


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> ServedCache[str]:
    made: ServedCache[str] = ServedCache(bound_s=0.8, refresh_s=0.25, max_bytes=100, now_s=clock)
    made.put(1, "a", "first", count=5, read_at=clock.now, num_bytes=10)
    return made


def test_a_value_is_given_until_the_bound(cache: ServedCache[str], clock: Clock) -> None:
    assert cache.get(1, "a") == "first"
    clock.now += 0.79
    assert (cache.get(1, "a"), cache.is_aging(1)) == ("first", True)
    clock.now += 0.02
    assert cache.get(1, "a") is None


def test_a_look_that_finds_the_same_count_lets_it_live_on(
    cache: ServedCache[str], clock: Clock
) -> None:
    clock.now += 0.7
    cache.checked(1, 5, clock.now)
    clock.now += 0.7
    assert cache.get(1, "a") == "first"
    cache.checked(1, 6, clock.now)
    assert cache.get(1, "a") is None


def test_a_word_of_a_change_ends_it_at_once(cache: ServedCache[str], clock: Clock) -> None:
    began = clock.now
    clock.now += 0.01
    cache.told(1)
    assert cache.get(1, "a") is None
    cache.checked(1, 5, began)  # a look that began before the word says nothing
    assert cache.get(1, "a") is None
    clock.now += 0.01
    cache.checked(1, 5, clock.now)
    assert cache.get(1, "a") == "first"


def test_another_projects_change_concerns_nobody_else(
    cache: ServedCache[str], clock: Clock
) -> None:
    clock.now += 0.01
    cache.told(2)
    assert cache.get(1, "a") == "first"
    cache.told_all()
    assert cache.get(1, "a") is None


def test_a_slow_read_never_replaces_a_newer_one(cache: ServedCache[str], clock: Clock) -> None:
    cache.put(1, "a", "second", count=6, read_at=clock.now, num_bytes=10)
    cache.put(1, "a", "late", count=5, read_at=clock.now, num_bytes=10)
    assert cache.get(1, "a") == "second"


def test_it_holds_no_more_than_it_may(cache: ServedCache[str], clock: Clock) -> None:
    for number in range(20):
        cache.put(1, number, str(number), count=5, read_at=clock.now, num_bytes=10)
    assert [cache.get(1, n) for n in range(20)] == [None] * 10 + [str(n) for n in range(10, 20)]
    cache.put(1, "big", "b", count=5, read_at=clock.now, num_bytes=101)
    assert cache.get(1, "big") is None
