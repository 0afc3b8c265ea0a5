"""The log of a draft as a person reads it: who wrote from when to when."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

PAUSE_S: Final = 30.0
MOST_LEN: Final = 100  # edits; a long stretch is shown in parts


@dataclass(slots=True)
class Stroke:
    """Edits of one person without a pause, numbers `first` to `latest`."""

    first: int
    latest: int
    user_id: int | None
    began_at: datetime
    ended_at: datetime


def strokes_of(edits: Iterable[tuple[int, int | None, datetime]]) -> list[Stroke]:
    """Number, person and time of each edit, in order, as strokes."""
    strokes: list[Stroke] = []
    for seq, user_id, at in edits:
        latest = strokes[-1] if strokes else None
        if (
            latest is not None
            and latest.user_id == user_id
            and seq - latest.first < MOST_LEN
            and (at - latest.ended_at).total_seconds() < PAUSE_S
        ):
            latest.latest, latest.ended_at = seq, at
        else:
            strokes.append(Stroke(seq, seq, user_id, at, at))
    return strokes
