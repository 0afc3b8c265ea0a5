"""Sections add up the time of their bodies."""

import pytest

from hone_engine.profiler import Sections


def test_sections_add_up_and_sort_by_cost() -> None:
    ticks = iter([0.0, 1.0, 10.0, 14.0, 20.0, 22.0])
    sections = Sections(clock=lambda: next(ticks))
    for name in ("short", "long", "short"):
        with sections(name):
            pass
    (first, long), (second, short) = sections.items()
    assert (first, second) == ("long", "short")
    assert (long.num_calls, long.total_s) == (1, 4.0)
    assert (short.num_calls, short.total_s, short.best_s, short.mean_s) == (2, 3.0, 1.0, 1.5)


def test_section_that_raises_is_timed() -> None:
    sections = Sections()
    with pytest.raises(KeyError), sections("body"):
        raise KeyError
    assert sections.items()[0][1].num_calls == 1
