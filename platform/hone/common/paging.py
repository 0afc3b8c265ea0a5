"""Keyset pages: `?limit=&cursor=` in, `{"data": [...], "next_cursor": null | "..."}` out.

A cursor is the sort key of the last row, so a page costs the same however deep it lies, and rows
that arrive meanwhile neither repeat nor hide others.
"""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

import orjson
from django.db.models import Model, Q, QuerySet

from hone.common.errors import InvalidError

Row = TypeVar("Row", bound=Model)
DEFAULT_LIMIT, MAX_LIMIT = 50, 200


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    rows: list[Row]
    next_cursor: str | None

    def body(self, encode: Callable[[Row], Any]) -> dict[str, Any]:
        """The JSON body of a list answer."""
        return {"data": [encode(row) for row in self.rows], "next_cursor": self.next_cursor}


def cursor_encode(values: Sequence[Any]) -> str:
    """An opaque text for the sort key of a row."""
    raw = orjson.dumps(list(values), default=str)
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def cursor_decode(cursor: str, kinds: Sequence[type]) -> list[Any]:
    """The sort key in `cursor`, one value of each of `kinds`; raises InvalidError."""
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        values: list[Any] = orjson.loads(raw)
        if len(values) != len(kinds):
            raise ValueError("wrong length")
        return [_as(kind, value) for kind, value in zip(kinds, values, strict=True)]
    except (ValueError, TypeError, binascii.Error):
        raise InvalidError(
            "cursor: it does not come from this list; leave it out to start", field="cursor"
        ) from None


def _as(kind: type, value: Any) -> Any:
    if kind is datetime:
        return datetime.fromisoformat(value)
    if type(value) is not kind or "\x00" in str(value):
        raise TypeError(f"got {type(value)}, want {kind}")
    return value


def limit_of(params: Mapping[str, str]) -> int:
    """The page length asked for, 1 to 200; raises InvalidError."""
    text = params.get("limit") or str(DEFAULT_LIMIT)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MAX_LIMIT:
        raise InvalidError(f"limit: got {text[:40]!r}, want 1 to {MAX_LIMIT}", field="limit")
    return int(text)


def _after(keys: Sequence[str], values: Sequence[Any]) -> Q:
    """Rows behind `values` in the order of `keys` ("-name" descends)."""
    condition = Q()
    for depth, key in enumerate(keys):
        equal = {k.lstrip("-"): v for k, v in zip(keys[:depth], values[:depth], strict=True)}
        operator = "lt" if key.startswith("-") else "gt"
        condition |= Q(**equal, **{f"{key.lstrip('-')}__{operator}": values[depth]})
    return condition


def paginate(
    queryset: QuerySet[Row, Row],
    params: Mapping[str, str],
    keys: Mapping[str, type],
) -> Page[Row]:
    """The page of `queryset` that `params` (limit, cursor) ask for.

    `keys` names the sort fields and their types in order, e.g. {"-created_at": datetime, "-id":
    int}; together they must be unique.
    """
    order = list(keys)
    limit = limit_of(params)
    if cursor := params.get("cursor"):
        queryset = queryset.filter(_after(order, cursor_decode(cursor, list(keys.values()))))
    rows = list(queryset.order_by(*order)[: limit + 1])
    if len(rows) <= limit:
        return Page(rows, None)
    latest = rows[limit - 1]
    values = [getattr(latest, key.lstrip("-")) for key in order]
    return Page(rows[:limit], cursor_encode(values))
