"""Bodies of answers: times, pages and errors."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from hone.common.errors import HoneError
from hone.common.public.params import PageQuery

_NAMES: Final = {
    400: "InvalidRequestError",
    401: "UnauthorizedError",
    403: "ForbiddenError",
    404: "LangfuseNotFoundError",
    405: "MethodNotAllowedError",
    409: "LangfuseConflictError",
    413: "PayloadTooLargeError",
    429: "RateLimitError",
    501: "NotImplementedError",
}


def stamp(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC to the millisecond, as `2026-11-30T12:00:00.000Z`."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def page_body(rows: Sequence[Any], query: PageQuery, total: int) -> dict[str, Any]:
    """A numbered page; `total` counts all rows."""
    meta = {
        "page": query.page,
        "limit": query.limit,
        "totalItems": total,
        "totalPages": -(-total // query.limit),
    }
    return {"data": list(rows), "meta": meta}


def cursor_body(rows: Sequence[Any], cursor: str | None, **meta: Any) -> dict[str, Any]:
    """A page that a cursor continues; at the end the cursor is absent."""
    return {"data": list(rows), "meta": {**meta, **({"cursor": cursor} if cursor else {})}}


def error_body(problem: HoneError) -> dict[str, Any]:
    """The body of a failure."""
    return {"message": problem.message, "error": _NAMES.get(problem.status, "InternalServerError")}
