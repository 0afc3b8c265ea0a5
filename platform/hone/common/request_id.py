"""One id a request, from the `x-request-id` header or new, seen in every log line of it."""

import re
import uuid
from contextvars import ContextVar

HEADER = "x-request-id"
SANE = re.compile(r"[A-Za-z0-9_.:-]{1,64}\Z")
current: ContextVar[str] = ContextVar("request_id", default="")


def accept(given: str | None) -> str:
    """The id for a request that came with `given`; one that is long or strange is replaced."""
    chosen = given if given and SANE.match(given) else uuid.uuid4().hex
    current.set(chosen)
    return chosen
