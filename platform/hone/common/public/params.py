"""Query strings read into values; raises InvalidError naming the parameter."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from django.http import QueryDict

from hone.common.errors import InvalidError

MAX_TEXT_LEN: Final = 1000
_LOST_PLUS: Final = re.compile(r" (?=\d\d:?\d\d$)")  # a "+" that was not escaped reads as blank


@dataclass(frozen=True, slots=True)
class PageQuery:
    """Which page is asked for, counted from 1."""

    page: int
    limit: int

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.limit


def page_query(params: Mapping[str, str], default: int = 50, maximum: int = 100) -> PageQuery:
    """The page of `?page=&limit=`; a limit over `maximum` is refused."""
    page = number_of(params, "page", minimum=1, maximum=10**6)
    limit = number_of(params, "limit", minimum=1, maximum=maximum)
    return PageQuery(page or 1, limit or default)


def number_of(
    params: Mapping[str, str], name: str, *, minimum: int, maximum: int = 2**31 - 1
) -> int | None:
    """A whole number; None where none is given."""
    text = params.get(name)
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or not minimum <= int(text[:12]) <= maximum:
        raise InvalidError(f"{name}: got {text[:40]!r}, want {minimum} to {maximum}", field=name)
    return int(text)


def flag_of(params: Mapping[str, str], name: str) -> bool | None:
    """`true` or `false`; None where none is given."""
    text = params.get(name)
    if not text:
        return None
    if text.lower() not in ("true", "false", "1", "0"):
        raise InvalidError(f"{name}: got {text[:40]!r}, want true or false", field=name)
    return text.lower() in ("true", "1")


def moment_of(params: Mapping[str, str], name: str) -> datetime | None:
    """A moment in ISO 8601; without a time zone it is read as UTC."""
    text = params.get(name)
    if not text:
        return None
    return moment_read(text, name)


def moment_read(text: str, name: str) -> datetime:
    """The moment that `text` spells; raises InvalidError."""
    try:
        moment = datetime.fromisoformat(_LOST_PLUS.sub("+", text))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidError(
            f"{name}: got {text[:40]!r}, want a time such as 2026-11-30T12:00:00Z", field=name
        ) from None


def text_of(params: Mapping[str, str], name: str) -> str | None:
    """A text that can be looked for; None where none is given."""
    text = params.get(name) or None
    if text and (len(text) > MAX_TEXT_LEN or "\x00" in text):
        raise InvalidError(f"{name}: want at most {MAX_TEXT_LEN} characters, no NUL", field=name)
    return text


def comma_list(params: Mapping[str, str], name: str) -> list[str]:
    """The items of `?name=a,b`."""
    text = text_of(params, name) or ""
    return [item for item in (part.strip() for part in text.split(",")) if item]


def repeated(params: QueryDict, name: str) -> list[str]:
    """The items of `?name=a&name=b`, or of `?name[]=a`."""
    found = [*params.getlist(name), *params.getlist(f"{name}[]")]
    if any("\x00" in item or len(item) > MAX_TEXT_LEN for item in found):
        raise InvalidError(f"{name}: want at most {MAX_TEXT_LEN} characters, no NUL", field=name)
    return [item for item in found if item]
