"""Files by their content: keys, tokens that stand for them in payloads, what is safe to show."""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from hone.common.errors import InvalidError

KEY_LEN: Final = 22
FIELDS: Final = ("input", "output", "metadata", "expectedOutput")
_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\Z")
_TOKEN: Final = re.compile(
    r"@@@langfuseMedia:type=([^|@\s]{1,255})\|id=([A-Za-z0-9_-]{22})\|source=([a-z0-9_]{1,40})@@@"
)
# A browser shows these as they are and runs nothing in them; all else is a download.
INLINE: Final = frozenset(
    {
        "application/pdf",
        "image/avif",
        "image/bmp",
        "image/gif",
        "image/jpeg",
        "image/jpg",
        "image/png",
        "image/webp",
        "text/plain",
    }
)
_MAX_TOKENS: Final = 200  # of one payload that are looked up


@dataclass(frozen=True, slots=True)
class MediaToken:
    """A token in a payload: `@@@langfuseMedia:type=…|id=…|source=…@@@`."""

    text: str
    content_type: str
    key: str
    path: str  # JSONPath of the string that holds it


def content_type_clean(given: str) -> str:
    """The type in lower case, without parameters; raises InvalidError for what is none."""
    kind = given.partition(";")[0].strip().lower()
    if not _TYPE.match(kind):
        raise InvalidError(
            f"contentType: got {given[:80]!r}, want one such as image/png", field="contentType"
        )
    return kind


def sha256_of(encoded: str) -> bytes:
    """The 32 bytes of a hash in base64 (either alphabet); raises InvalidError."""
    try:
        raw = base64.b64decode(encoded.replace("-", "+").replace("_", "/") + "==", validate=False)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32:
        raise InvalidError("sha256Hash: want a SHA-256 in base64", field="sha256Hash")
    return raw


def media_key(sha256: bytes) -> str:
    """The key of the content, which clients compute too."""
    return base64.urlsafe_b64encode(sha256).decode()[:KEY_LEN]


def is_inline(content_type: str) -> bool:
    """Whether a browser may show it rather than save it."""
    return content_type in INLINE or content_type.startswith(("audio/", "video/"))


def tokens_in(value: Any) -> list[MediaToken]:
    """The tokens in the strings of a JSON value, in order, at most 200."""
    found: list[MediaToken] = []
    for path, text in _strings(value, "$"):
        for match in _TOKEN.finditer(text):
            if len(found) == _MAX_TOKENS:
                return found
            found.append(MediaToken(match[0], match[1], match[2], path))
    return found


def _strings(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if "@@@" in value:
            yield path, value
    elif isinstance(value, dict):
        for key, below in value.items():
            yield from _strings(
                below, f"{path}.{key}" if key.isidentifier() else f"{path}['{key}']"
            )
    elif isinstance(value, list):
        for position, below in enumerate(value):
            yield from _strings(below, f"{path}[{position}]")
