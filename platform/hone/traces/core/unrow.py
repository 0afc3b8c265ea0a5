"""The way back: encoded rows as values, and values as a span that can be summed up."""

import struct
from decimal import Decimal
from typing import Final

from hone.traces.core.row import COLUMNS, Row, Value, since_1970
from hone.traces.core.span import Span
from hone.traces.core.text import json_stored

_TYPES: Final = tuple(COLUMNS.values())
_NAMES: Final = tuple(COLUMNS)


def row_from(encoded: bytes) -> Row:
    """The values of a row in the binary form of COPY."""
    values: list[Value] = []
    at = 2
    for kind in _TYPES:
        (length,) = struct.unpack_from("!i", encoded, at)
        at += 4
        values.append(None if length < 0 else _value(kind, encoded[at : at + length]))
        at += max(length, 0)
    return tuple(values)


def _value(kind: str, data: bytes) -> Value:
    if kind == "int8":
        return int.from_bytes(data, signed=True)
    if kind == "numeric":
        return _decimal(data)
    return data.decode() if kind == "text" else data


def _decimal(data: bytes) -> Decimal:
    """A numeric that is not negative."""
    count, weight, _, scale = struct.unpack_from("!hhHh", data)
    digits = "".join(f"{group:04}" for group in struct.unpack_from(f"!{count}h", data, 8))
    number = Decimal(digits or "0").scaleb(4 * (weight + 1) - len(digits))
    return number.quantize(Decimal(1).scaleb(-scale))


def span_from(row: Row) -> Span:
    """A span with all that decides its trace's summary; metadata and the like stay behind."""
    found = dict(zip(_NAMES, row, strict=True))
    trace_id, span_id, parent = (found[n] for n in ("trace_id", "span_id", "parent_span_id"))
    assert isinstance(trace_id, bytes)
    assert isinstance(span_id, bytes)
    tags, cost = found["tags"], found["cost"]
    return Span(
        trace_id=trace_id.hex(),
        span_id=span_id.hex(),
        parent_span_id=parent.hex() if isinstance(parent, bytes) else None,
        start_ns=_ns(found["start_time"]) or 0,
        end_ns=_ns(found["end_time"]) or 0,
        first_token_ns=_ns(found["first_token_at"]),
        usage=_usage(found) if found["usage"] else None,
        cost={"total": cost} if isinstance(cost, Decimal) else None,
        tags=json_stored(tags) if isinstance(tags, str) else (),
        **{name: found[name] for name in _AS_THEY_ARE},  # type: ignore[arg-type]
    )


_AS_THEY_ARE: Final = (
    *("name", "type", "level", "status", "trace_name", "model", "input", "output"),
    *(
        "prompt_name",
        "prompt_version",
        "session_id",
        "user_id",
        "environment",
        "release",
        "version",
    ),
)


def _ns(value: Value) -> int | None:
    return since_1970(value) * 1000 if isinstance(value, int) else None


def _usage(found: dict[str, Value]) -> dict[str, int]:
    parts = {name: found[f"{name}_tokens"] for name in ("input", "output", "total")}
    return {name: count for name, count in parts.items() if isinstance(count, int)}
