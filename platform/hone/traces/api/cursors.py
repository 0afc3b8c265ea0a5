"""Places in lists that are ordered by time and id."""

from collections.abc import Mapping
from datetime import datetime

from hone.common.errors import InvalidError
from hone.common.paging import cursor_decode, cursor_encode

HEX = frozenset("0123456789abcdef")


def after_hex(params: Mapping[str, str], id_len: int) -> tuple[datetime, str] | None:
    """The position that a cursor names: a time and an id of `id_len` hex digits."""
    position = after_text(params)
    if position and (len(position[1]) != id_len or set(position[1]) - HEX):
        raise InvalidError("cursor: it does not come from this list", field="cursor")
    return position


def after_text(params: Mapping[str, str]) -> tuple[datetime, str] | None:
    """The position that a cursor names: a time and any id."""
    cursor = params.get("cursor")
    if not cursor:
        return None
    moment, identity = cursor_decode(cursor, [datetime, str])
    if moment.tzinfo is None:
        raise InvalidError("cursor: it does not come from this list", field="cursor")
    return moment, identity


def cursor_of(position: tuple[datetime, str] | None) -> str | None:
    return position and cursor_encode([position[0].isoformat(), position[1]])
