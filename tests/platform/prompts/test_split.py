"""Who gets which version of a split label."""

from collections import Counter

import pytest

from hone.common.errors import InvalidError
from hone.prompts.core.split import NOBODY, Arm, Split, Subject, arms_clean

KEYS = [Subject(user=f"user-{n}") for n in range(20_000)]


def split(*arms: tuple[int, int], salt: str = "s") -> Split:
    return Split(1, "greet", "production", salt, tuple(Arm(*arm) for arm in arms))


def dealt(of: Split) -> list[int]:
    return [of.assign(key).version for key in KEYS]


@pytest.mark.parametrize(
    "arms", [((3, 90), (4, 10)), ((1, 1), (2, 1), (3, 1)), ((1, 1), (2, 9999))]
)
def test_each_version_gets_its_share_of_the_keys(arms: tuple[tuple[int, int], ...]) -> None:
    counted = Counter(dealt(split(*arms)))
    chi2 = 0.0
    for version, _ in arms:
        wanted = len(KEYS) * split(*arms).share(version)
        chi2 += (counted[version] - wanted) ** 2 / wanted
    assert chi2 < 13.8  # 0.1 % with two degrees of freedom


def test_a_key_always_gets_the_same_version_in_every_process() -> None:
    of = split((3, 60), (4, 40))
    assert dealt(of) == dealt(split((3, 60), (4, 40)))
    # Written down, so that another release deals alike.
    assert [of.assign(Subject(user=f"u{n}")).version for n in range(12)] == GOLDEN


GOLDEN = [3, 3, 3, 3, 3, 3, 3, 4, 3, 3, 4, 3]


def test_where_weights_change_only_those_move_that_must() -> None:
    before, after = dealt(split((3, 90), (4, 10))), dealt(split((3, 70), (4, 30)))
    moved = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert set(moved) == {(3, 4)}  # nobody leaves the version that gains
    assert len(moved) / len(KEYS) == pytest.approx(0.2, abs=0.01)


def test_a_third_version_takes_only_its_own_share() -> None:
    before, after = dealt(split((3, 50), (4, 50))), dealt(split((3, 50), (4, 50), (5, 25)))
    moved = [b for a, b in zip(before, after, strict=True) if a != b]
    assert set(moved) == {5}
    assert len(moved) / len(KEYS) == pytest.approx(0.2, abs=0.01)


def test_the_scale_of_the_weights_and_their_order_do_not_matter() -> None:
    assert dealt(split((3, 9), (4, 1))) == dealt(split((4, 100), (3, 900)))


def test_another_salt_deals_anew() -> None:
    same = sum(
        a == b
        for a, b in zip(
            dealt(split((3, 1), (4, 1))), dealt(split((3, 1), (4, 1), salt="t")), strict=True
        )
    )
    assert same / len(KEYS) == pytest.approx(0.5, abs=0.02)


def test_the_user_decides_before_the_session() -> None:
    of = split((3, 50), (4, 50))
    for number in range(100):
        user, session = Subject(user=f"u{number}"), Subject(session=f"u{number}")
        both = Subject(user=f"u{number}", session="s")
        assert of.assign(both).version == of.assign(user).version
        assert (of.assign(both).by, of.assign(session).by) == ("user", "session")
    assert any(
        of.assign(Subject(user=f"u{n}")).version != of.assign(Subject(session=f"u{n}")).version
        for n in range(100)
    )


def test_whoever_names_nobody_gets_the_main_version() -> None:
    assert split((3, 1), (4, 9999)).assign(NOBODY).version == 3
    assert split((3, 1), (4, 9999)).assign(NOBODY).by is None


@pytest.mark.parametrize(
    "arms",
    [
        [(1, 1)],
        [(1, 1), (1, 2)],
        [(1, 0), (2, 1)],
        [(1, 10_001), (2, 1)],
        [(n, 1) for n in range(11)],
    ],
)
def test_bad_arms_are_refused(arms: list[tuple[int, int]]) -> None:
    with pytest.raises(InvalidError, match="arms"):
        arms_clean([Arm(*arm) for arm in arms])
