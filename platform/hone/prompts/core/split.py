"""A label that stands for several versions, and which of them somebody gets.

Weighted rendezvous hashing: each version draws a number from its own hash of the key, divided by
its weight, and the smallest wins. The same key always gets the same version; a version gets its
share of the keys; and where a weight changes or a version comes or goes, only those keys move that
must (to a version that gains, or from one that loses).
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hone.common.errors import InvalidError

MAX_ARMS: Final = 10
MAX_WEIGHT: Final = 10_000
KEY_LEN: Final = 500


@dataclass(frozen=True, slots=True)
class Arm:
    """A version's number and its weight, which counts against the sum of all."""

    version: int
    weight: int


@dataclass(frozen=True, slots=True)
class Subject:
    """For whom a prompt is asked: the user decides where there is one, else the session."""

    user: str = ""
    session: str = ""

    @property
    def kind(self) -> str | None:
        return "user" if self.user else "session" if self.session else None

    @property
    def key(self) -> str | None:
        """What is hashed; a user and a session of one name are two keys."""
        text = self.user or self.session
        return f"{self.kind}:{text[:KEY_LEN]}" if text else None


NOBODY: Final = Subject()


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which version of a split label somebody got, and by what."""

    label: str
    version: int
    by: str | None  # user | session | None: nobody was named, so the main arm
    arms: tuple[Arm, ...]

    @property
    def spelled(self) -> str:
        """The split in one text, the main version first: `3:90,4:10`."""
        return ",".join(f"{arm.version}:{arm.weight}" for arm in self.arms)


@dataclass(frozen=True, slots=True)
class Split:
    """The arms of a label, the main one first: it is for whom does not say for whom he asks."""

    project_id: int
    prompt: str
    label: str
    salt: str
    arms: tuple[Arm, ...]

    def assign(self, subject: Subject) -> Assignment:
        """The version for `subject`; without user and session that of the main arm."""
        key = subject.key
        arm = min(self.arms, key=lambda arm: self._draw(arm, key)) if key else self.arms[0]
        return Assignment(self.label, arm.version, subject.kind, self.arms)

    def _draw(self, arm: Arm, key: str) -> float:
        parts = (str(self.project_id), self.prompt, self.label, self.salt, key, str(arm.version))
        data = hashlib.blake2b("\x00".join(parts).encode(), digest_size=8).digest()
        uniform = (int.from_bytes(data, "big") + 0.5) / 2**64
        return -math.log(uniform) / arm.weight

    def share(self, version: int) -> float:
        """The part of all keys that gets `version`, 0 to 1."""
        total = sum(arm.weight for arm in self.arms)
        return sum(arm.weight for arm in self.arms if arm.version == version) / total


def arms_clean(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Checked arms; raises InvalidError."""
    if not 2 <= len(arms) <= MAX_ARMS:
        raise InvalidError(f"arms: got {len(arms)}, want 2 to {MAX_ARMS} versions", field="arms")
    if len({arm.version for arm in arms}) != len(arms):
        raise InvalidError("arms: a version stands there twice", field="arms")
    for arm in arms:
        if not 1 <= arm.weight <= MAX_WEIGHT:
            raise InvalidError(
                f"arms: version {arm.version} has weight {arm.weight}, want 1 to {MAX_WEIGHT}",
                field="arms",
            )
    return tuple(arms)
