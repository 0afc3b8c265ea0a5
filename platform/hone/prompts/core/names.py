"""Names of prompts and labels, and references that name a version: `name@3`, `name@label`."""

import re
from dataclasses import dataclass

from hone.common.errors import InvalidError

LATEST = "latest"  # the label that follows the newest version by itself
DEFAULT = "production"  # the label meant where a reference names none
RESERVED = frozenset({"versions", "labels", "render", "diff"})  # they follow a name in addresses
NAME_LEN = 200
LABEL = re.compile(r"(?=[a-z0-9_.-]*[a-z_])[a-z0-9][a-z0-9_.-]{0,62}\Z")  # not digits alone
TAG_LEN, NUM_TAGS = 60, 50
MAX_NUMBER = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Reference:
    """A prompt by name, and the version by number or by label (neither: the default)."""

    name: str
    number: int | None = None
    label: str | None = None


def name_clean(name: str) -> str:
    """The name, which may hold `/` for folders; raises InvalidError."""
    parts = name.split("/")
    if not 1 <= len(name) <= NAME_LEN or not name.isprintable() or "@" in name:
        raise InvalidError(
            f"name: want 1 to {NAME_LEN} printable characters without @", field="name"
        )
    if any(not part.strip() or part in {".", ".."} or part != part.strip() for part in parts):
        raise InvalidError(f"name: a folder or the end of {name!r} is empty", field="name")
    if taken := RESERVED.intersection(parts):
        raise InvalidError(f"name: {min(taken)!r} is reserved", field="name")
    return name


def label_clean(label: str) -> str:
    """A label that people may set; raises InvalidError."""
    if label == LATEST:
        raise InvalidError("label: latest follows the newest version by itself", field="label")
    if not LABEL.match(label):
        raise InvalidError(
            f"label: got {label[:80]!r}, want 1 to 63 of a-z 0-9 _ . - and not digits alone",
            field="label",
        )
    return label


def tags_clean(tags: list[str]) -> list[str]:
    """The tags, sorted, each once; raises InvalidError."""
    if len(tags) > NUM_TAGS or any(not 1 <= len(t) <= TAG_LEN or not t.isprintable() for t in tags):
        raise InvalidError(
            f"tags: want at most {NUM_TAGS} of 1 to {TAG_LEN} characters", field="tags"
        )
    return sorted(set(tags))


def reference_parse(text: str) -> Reference:
    """What `name`, `name@3` or `name@label` refers to; raises InvalidError."""
    name, found, which = text.rpartition("@")
    if not found:
        name, which = which, ""
    if not name or (found and not which):
        raise InvalidError(f"prompt: got {text[:80]!r}, want name, name@3 or name@label")
    if which.isascii() and which.isdigit():
        number = int(which[:11])
        if not 1 <= number <= MAX_NUMBER:
            raise InvalidError(f"prompt: there is no version {which[:20]}")
        return Reference(name, number=number)
    return Reference(name, label=which or None)
