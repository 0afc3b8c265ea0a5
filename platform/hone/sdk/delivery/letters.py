"""Parcels as HTTP requests: spans together to the traces door, scores together to theirs."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan

from hone.sdk import keys
from hone.sdk.delivery import wire
from hone.sdk.delivery.outbox import Parcel
from hone.sdk.delivery.transport import Reply
from hone.sdk.options import log

SCORES_PATH: Final = "/api/public/scores"
MAX_SCORES: Final = 15  # of one request: what clients of this door send at most
Mask = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Letter:
    """One request with what it carries, to be sent as often as needed."""

    path: str
    headers: Mapping[str, str]
    parcels: list[Parcel]
    mask: Mask
    dropped: int  # spans lost so far, told to the server

    def body(self) -> bytes:
        """The request's body."""
        if self.path == SCORES_PATH:
            return json.dumps([parcel.content for parcel in self.parcels]).encode()
        encoded = []
        for parcel in self.parcels:
            try:
                encoded.append((parcel.content, wire.span_text(parcel.content, self.mask)))
            except Exception:
                log.warning("hone: a span cannot be encoded", exc_info=True)
        return wire.body_of(encoded, {keys.DROPPED: self.dropped} if self.dropped else None)

    def halves(self) -> tuple["Letter", "Letter"]:
        """Two letters with half of the parcels each, where one is too large."""
        middle = len(self.parcels) // 2
        first, second = self.parcels[:middle], self.parcels[middle:]
        return self._with(first), self._with(second)

    def refused(self, reply: Reply) -> int:
        """How many parcels of a request that succeeded were not taken."""
        said = reply.json()
        if not isinstance(said, dict):
            return 0
        if self.path == SCORES_PATH:
            errors = said.get("errors")
            return min(len(errors), len(self.parcels)) if isinstance(errors, list) else 0
        partial = said.get("partialSuccess")
        number = partial.get("rejectedSpans", 0) if isinstance(partial, dict) else 0
        try:
            return min(max(0, int(number)), len(self.parcels))
        except (TypeError, ValueError):
            return 0

    def _with(self, parcels: list[Parcel]) -> "Letter":
        return Letter(self.path, self.headers, parcels, self.mask, self.dropped)


def letters_of(parcels: list[Parcel], mask: Mask, dropped: int) -> Iterator[Letter]:
    """The requests that a batch needs."""
    spans = [parcel for parcel in parcels if isinstance(parcel.content, ReadableSpan)]
    scores = [parcel for parcel in parcels if not isinstance(parcel.content, ReadableSpan)]
    if spans:
        yield Letter(wire.PATH, wire.HEADERS, spans, mask, dropped)
    for start in range(0, len(scores), MAX_SCORES):
        batch = scores[start : start + MAX_SCORES]
        yield Letter(SCORES_PATH, {"Content-Type": "application/json"}, batch, mask, dropped)
