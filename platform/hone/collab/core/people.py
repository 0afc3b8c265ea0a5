"""How a person shows in a room."""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

# Told apart in light and dark, and by people who do not see red and green alike.
COLORS: Final = (
    "#2f6fde",
    "#b4540a",
    "#0f7b6c",
    "#9333a8",
    "#be185d",
    "#4d6b00",
    "#0b6a99",
    "#7a4b1e",
)


def color_of(identity: str) -> str:
    """The person's color, the same in every room and every process."""
    return COLORS[hashlib.sha256(identity.encode()).digest()[0] % len(COLORS)]


def user_identity(user_id: object) -> str:
    """How a person is named among those in a room."""
    return f"u{user_id}"


def key_identity(key_id: object) -> str:
    """How a program with a key is named there."""
    return f"k{key_id}"


@dataclass(frozen=True, slots=True)
class Person:
    """Who sits at a socket, as the server knows it."""

    identity: str
    name: str
    user_id: int | None

    def shown(self) -> dict[str, Any]:
        """What everybody in the room is told."""
        return {"id": self.identity, "name": self.name, "color": color_of(self.identity)}
