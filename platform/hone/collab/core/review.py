"""Where a proposal stands: what people said of what it says now, and what is still missing."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import orjson

from hone.collab.core.shape import Shape

Kind = Literal["approved", "changes"]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one person said of a content."""

    user_id: int | None
    name: str
    kind: Kind
    content_hash: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What counts for a content.

    approvals, changes: of people whose latest word is of this content. stale: approvals of an
    earlier one.
    """

    needed: int
    approvals: tuple[Opinion, ...]
    changes: tuple[Opinion, ...]
    stale: tuple[Opinion, ...]

    def missing(self) -> list[str]:
        """Why it may not be published to its label, in words; empty where it may."""
        if not self.needed:
            return []
        reasons = [f"{opinion.name} asks for changes" for opinion in self.changes]
        if (have := len(self.approvals)) < self.needed:
            late = f"; {len(self.stale)} given before the latest edits" if self.stale else ""
            reasons.append(f"{have} of {self.needed} approvals{late}")
        return reasons


def shape_hash(shape: Shape) -> str:
    """SHA-256 of everything that a draft says: 64 hex digits."""
    value = [shape.type, shape.prompt, shape.config, shape.variables]
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def standing_of(
    opinions: Iterable[Opinion], content_hash: str, needed: int, author_id: int | None
) -> Standing:
    """Of opinions in the order in which they came; each person's latest counts, the author's
    never."""
    latest = {
        opinion.user_id or opinion.name: opinion
        for opinion in opinions
        if author_id is None or opinion.user_id != author_id
    }
    fresh = [opinion for opinion in latest.values() if opinion.content_hash == content_hash]
    late = [opinion for opinion in latest.values() if opinion.content_hash != content_hash]
    return Standing(
        needed,
        tuple(opinion for opinion in fresh if opinion.kind == "approved"),
        tuple(opinion for opinion in fresh if opinion.kind == "changes"),
        tuple(opinion for opinion in late if opinion.kind == "approved"),
    )
