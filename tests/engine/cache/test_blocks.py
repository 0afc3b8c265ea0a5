import pytest

from hone_engine.cache.blocks import PagePool, hashes_extend, page_hash


def take_all(pool: PagePool) -> list[int]:
    pages = []
    while (page := pool.take()) is not None:
        pages.append(page)
    return pages


def test_it_hands_out_every_page_once_and_then_none() -> None:
    pool = PagePool(5, 4)
    assert sorted(take_all(pool)) == [0, 1, 2, 3, 4]
    assert pool.take() is None
    assert pool.num_held == 5
    pool.check()


def test_a_dropped_page_without_content_is_free_again() -> None:
    pool = PagePool(2, 4)
    page = pool.take()
    assert page is not None
    pool.drop([page])
    assert pool.num_available == 2
    assert pool.num_idle == 0
    pool.check()


def test_a_published_page_stays_known_after_its_holder_left() -> None:
    pool = PagePool(2, 4)
    page = pool.take()
    assert page is not None
    name = page_hash(b"", [1, 2, 3, 4])
    pool.publish(page, name)
    pool.drop([page])
    assert pool.match([name, b"unknown"]) == [page]
    assert pool.count_idle([page]) == 1
    pool.hold([page])
    assert pool.num_held == 1
    pool.hold([page])
    pool.drop([page])
    assert pool.num_held == 1, "two holders, one left"
    pool.check()


def test_unknown_pages_go_first_then_the_longest_idle_and_a_texts_end_before_its_beginning() -> (
    None
):
    pool = PagePool(4, 2)
    old = [pool.take(), pool.take()]
    new = [pool.take()]
    for index, page in enumerate([*old, *new]):
        pool.publish(page, bytes([index]))  # type: ignore[arg-type]
    pool.drop(old)  # type: ignore[arg-type]
    pool.drop(new)  # type: ignore[arg-type]
    taken = take_all(pool)
    assert taken[1:] == [old[1], old[0], new[0]]
    assert pool.match([b"\x00"]) == [], "what is handed out is not known any more"
    pool.check()


def test_equal_content_is_known_by_the_first_page_that_had_it() -> None:
    pool = PagePool(2, 2)
    first, second = pool.take(), pool.take()
    assert first is not None
    assert second is not None
    pool.publish(first, b"x")
    pool.publish(second, b"x")
    pool.drop([first, second])
    assert pool.match([b"x"]) == [first]
    assert pool.num_idle == 1
    pool.check()


def test_clear_forgets_what_nobody_holds() -> None:
    pool = PagePool(2, 2)
    held, idle = pool.take(), pool.take()
    assert held is not None
    assert idle is not None
    pool.publish(held, b"h")
    pool.publish(idle, b"i")
    pool.drop([idle])
    pool.clear()
    assert pool.match([b"i"]) == []
    assert pool.match([b"h"]) == [held]
    pool.check()


def test_dropping_more_often_than_held_is_a_defect_and_said() -> None:
    pool = PagePool(1, 2)
    page = pool.take()
    assert page is not None
    pool.drop([page])
    with pytest.raises(AssertionError, match="dropped by more than hold it"):
        pool.drop([page])


def test_hashes_chain_so_that_equal_pages_after_different_texts_differ() -> None:
    one: list[bytes] = []
    other: list[bytes] = []
    hashes_extend(one, [1, 2, 7, 8, 9], 2)
    hashes_extend(other, [3, 4, 7, 8], 2)
    assert len(one) == len(other) == 2
    assert one[1] != other[1]


def test_hashes_grow_with_the_text_and_match_those_made_at_once() -> None:
    tokens = list(range(100, 117))
    grown: list[bytes] = []
    for end in range(len(tokens) + 1):
        hashes_extend(grown, tokens[:end], 4)
    whole: list[bytes] = []
    hashes_extend(whole, tokens, 4)
    assert grown == whole
    assert len(whole) == 4
