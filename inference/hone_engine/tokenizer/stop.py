"""Stop strings across token borders."""

from collections.abc import Sequence


def _failure_links(text: str) -> list[int]:
    """For each length of a beginning of `text`: its longest proper end that also begins it."""
    links = [0] * (len(text) + 1)
    matched = 0
    for at in range(1, len(text)):
        while matched and text[at] != text[matched]:
            matched = links[matched]
        matched += text[at] == text[matched]
        links[at + 1] = matched
    return links


class _Pattern:
    """How much of one stop string the text so far ends with (Knuth, Morris and Pratt, 1977)."""

    __slots__ = ("_links", "_text", "matched_len")

    def __init__(self, text: str):
        self._text = text
        self._links = _failure_links(text)
        self.matched_len = 0

    def feed(self, char: str) -> bool:
        """Take one more character; True when it completes the string."""
        text, matched = self._text, self.matched_len
        while matched and (matched == len(text) or text[matched] != char):
            matched = self._links[matched]
        self.matched_len = matched + (text[matched] == char)
        return self.matched_len == len(text)


class StopMatcher:
    """Passes a text on and ends it before the first stop string that completes.

    It holds back only an end of the text that can still become a stop string. Where two complete
    with the same character the longer one wins, so the outcome does not depend on how the text
    was cut into pieces. Raises ValueError for an empty stop string.
    """

    __slots__ = ("_held", "_patterns", "_stops", "matched")

    def __init__(self, stops: Sequence[str] = ()):
        if not all(stops):
            raise ValueError("stop: got an empty string, wanted at least one character")
        self._stops = sorted(stops, key=len, reverse=True)
        self._patterns = [_Pattern(stop) for stop in self._stops]
        self._held = ""
        self.matched: str | None = None  # the stop string that ended the text

    def push(self, text: str) -> str:
        """What may be shown now that `text` was added; "" after a match."""
        if self.matched is not None:
            return ""
        if not self._patterns:
            return text
        whole = self._held + text
        for at, char in enumerate(text, len(self._held)):
            completed = [pattern.feed(char) for pattern in self._patterns]
            if any(completed):
                self.matched = self._stops[completed.index(True)]
                self._held = ""
                return whole[: at + 1 - len(self.matched)]
        held_len = max(pattern.matched_len for pattern in self._patterns)
        self._held = whole[len(whole) - held_len :]
        return whole[: len(whole) - held_len]

    def flush(self) -> str:
        """What was held back, when the text ended for another reason."""
        held, self._held = self._held, ""
        return held
