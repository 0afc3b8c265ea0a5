"""W3C Trace Context: the client's own trace, which our spans join."""

import re

PATTERN = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")


def traceparent_parse(header: str | None) -> tuple[str, str] | None:
    """(trace id, parent span id) of a `traceparent` header; None when it is absent or invalid.

    https://www.w3.org/TR/trace-context/#traceparent-header
    """
    match = PATTERN.fullmatch((header or "").strip())
    if match is None or not match[1].strip("0") or not match[2].strip("0"):
        return None
    return match[1], match[2]
