"""Failures that a caller is told about: each knows its HTTP status and its code.

Raise them from services and selectors; the edges (`rest.exception_response`, `asgi.send_error`)
turn them into `{"error": {"code", "message", "field"}}`.
"""

from typing import ClassVar


class HoneError(Exception):
    """A failure with a message for the caller; `field` names the argument at fault."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "invalid"

    def __init__(
        self, message: str, *, field: str | None = None, retry_after_s: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.retry_after_s = retry_after_s

    def body(self) -> dict[str, object]:
        """The JSON body of the answer."""
        return {"error": {"code": self.code, "message": self.message, "field": self.field}}

    def headers(self) -> dict[str, str]:
        """Extra headers of the answer."""
        return {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}


class InvalidError(HoneError):
    """The request is not what it should be."""


class UnauthenticatedError(HoneError):
    status, code = 401, "unauthenticated"

    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": 'Bearer realm="hone"', **super().headers()}


class ForbiddenError(HoneError):
    """Known, but not allowed."""

    status, code = 403, "forbidden"


class NotFoundError(HoneError):
    """Not there, or not for these eyes."""

    status, code = 404, "not_found"


class ConflictError(HoneError):
    """Taken, or changed meanwhile."""

    status, code = 409, "conflict"


class TooLargeError(HoneError):
    status, code = 413, "too_large"


class UnsupportedError(HoneError):
    """A media type or encoding that is not read here."""

    status, code = 415, "unsupported"


class ThrottledError(HoneError):
    """Too often; says when to come back."""

    status, code = 429, "throttled"

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message, retry_after_s=retry_after_s)


class UnavailableError(HoneError):
    """A part that is needed does not answer at present."""

    status, code = 503, "unavailable"

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
