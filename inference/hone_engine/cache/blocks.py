"""The pages of a KV cache by number: reference counts, and reuse of equal prefixes.

A page is in exactly one of three states: free (no content worth keeping), held (by one or more
sequences) or idle (held by nobody, its content still known by its hash). Idle pages are given out
when no free one is left, least recently used first, so reuse never costs capacity.

A page's hash chains its parent's hash and its own tokens: equal hashes mean equal texts from the
beginning, hence equal keys and values. Only full pages have one.
"""

from array import array
from collections.abc import Sequence
from hashlib import blake2b

ROOT_HASH = b""


def page_hash(parent: bytes, token_ids: Sequence[int]) -> bytes:
    """The 16 bytes that name a full page of `token_ids` after the page named `parent`."""
    return blake2b(parent + array("I", token_ids).tobytes(), digest_size=16).digest()


def hashes_extend(hashes: list[bytes], token_ids: Sequence[int], page_len: int) -> None:
    """Add to `hashes` those of the full pages of `token_ids` that it lacks."""
    parent = hashes[-1] if hashes else ROOT_HASH
    for start in range(len(hashes) * page_len, len(token_ids) - page_len + 1, page_len):
        parent = page_hash(parent, token_ids[start : start + page_len])
        hashes.append(parent)


class PagePool:
    """Hands out pages 0 .. num_pages-1. Not thread-safe; nothing here blocks or raises on demand:
    `take` answers None when every page is held."""

    def __init__(self, num_pages: int, page_len: int):
        assert num_pages > 0
        assert page_len > 0
        self.num_pages = num_pages
        self.page_len = page_len
        self._free = list(range(num_pages - 1, -1, -1))
        self._refs = [0] * num_pages
        self._hash_of: list[bytes | None] = [None] * num_pages
        self._page_of: dict[bytes, int] = {}
        self._idle: dict[int, None] = {}  # in order of release

    @property
    def num_available(self) -> int:
        return len(self._free) + len(self._idle)

    @property
    def num_idle(self) -> int:
        return len(self._idle)

    @property
    def num_held(self) -> int:
        return self.num_pages - self.num_available

    def take(self) -> int | None:
        """A page for one holder, its content undefined; None when all are held."""
        if self._free:
            page = self._free.pop()
        elif self._idle:
            page = next(iter(self._idle))
            del self._idle[page]
            self._forget(page)
        else:
            return None
        self._refs[page] = 1
        return page

    def match(self, hashes: Sequence[bytes]) -> list[int]:
        """The known pages of the longest prefix of `hashes`; none of them is held by this."""
        pages = []
        for name in hashes:
            page = self._page_of.get(name)
            if page is None:
                break
            pages.append(page)
        return pages

    def count_idle(self, pages: Sequence[int]) -> int:
        """How many of `pages` nobody holds: holding them lowers `num_available` by as many."""
        return sum(page in self._idle for page in pages)

    def hold(self, pages: Sequence[int]) -> None:
        """One more holder for each of `pages`, which are held or idle."""
        for page in pages:
            if self._refs[page] == 0:
                del self._idle[page]
            self._refs[page] += 1

    def drop(self, pages: Sequence[int]) -> None:
        """One holder less for each. Of a text's pages its end is reused before its beginning."""
        for page in reversed(pages):
            self._refs[page] -= 1
            assert self._refs[page] >= 0, f"page {page} is dropped by more than hold it"
            if self._refs[page] == 0:
                if self._hash_of[page] is None:
                    self._free.append(page)
                else:
                    self._idle[page] = None

    def publish(self, page: int, name: bytes) -> None:
        """Make a held, fully computed page known by its hash; a no-op where its equal is known."""
        assert self._refs[page] > 0, f"page {page} is published but not held"
        if name not in self._page_of and self._hash_of[page] is None:
            self._page_of[name] = page
            self._hash_of[page] = name

    def clear(self) -> None:
        """Forget what idle pages contain; held pages stay as they are."""
        for page in self._idle:
            self._forget(page)
            self._free.append(page)
        self._idle.clear()

    def check(self) -> None:
        """Assert what must hold between any two calls: for tests and the soak."""
        free, idle = set(self._free), set(self._idle)
        held = {page for page, refs in enumerate(self._refs) if refs}
        assert len(free) == len(self._free), "a page is free twice"
        assert len(free | idle | held) == self.num_pages, "a page is lost"
        assert len(free) + len(idle) + len(held) == self.num_pages, "a page has two states"
        assert all(self._hash_of[page] is not None for page in idle)
        assert all(self._hash_of[page] is None for page in free)
        assert self._page_of == {n: p for p, n in enumerate(self._hash_of) if n is not None}

    def _forget(self, page: int) -> None:
        name = self._hash_of[page]
        if name is not None:
            del self._page_of[name]
            self._hash_of[page] = None
