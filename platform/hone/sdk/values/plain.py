"""Any Python value as JSON's own types, within a budget of nodes and characters.

Reading a value may run the host's code (properties, `__repr__`, iterators). Whatever that raises
becomes a note at the place where it happened.
"""

import math
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import Any, Final

from hone.sdk.values import objects

MAX_DEPTH: Final = 20
NODE_LEN: Final = 4  # characters that JSON spends on each item
MAX_INT_BITS: Final = 1024  # longer integers cost seconds to write in decimals


class Budget:
    """What one value may still cost."""

    __slots__ = ("chars", "nodes", "open")

    def __init__(self, nodes: int, chars: int) -> None:
        self.nodes = nodes
        self.chars = chars
        self.open: set[int] = set()  # containers being read: where one comes again is a cycle

    def text(self, value: str) -> str:
        """`value`, or its beginning where the characters run out."""
        left = self.chars
        self.chars = left - len(value)
        if len(value) <= left:
            return value
        left = max(0, left)
        return f"{value[:left]}… [{len(value) - left} characters cut]"


def plain(value: object, budget: Budget) -> Any:
    """`value` in str, int, float, bool, None, list and dict."""
    kind = type(value)
    if kind is str:
        return budget.text(value)  # type: ignore[arg-type]
    if value is None or kind is bool:
        return value
    if kind is int:
        return _integer(value)  # type: ignore[arg-type]
    if kind is float:
        return value if math.isfinite(value) else str(value)  # type: ignore[arg-type]
    budget.nodes -= 1
    if budget.nodes < 0 or budget.chars <= 0:
        return "…"
    return _container(value, budget)


def _integer(value: int) -> int | str:
    if value.bit_length() <= MAX_INT_BITS:
        return value
    return f"<integer of {value.bit_length()} bits>"


def _container(value: object, budget: Budget) -> Any:
    if id(value) in budget.open:
        return "<cycle>"
    if len(budget.open) >= MAX_DEPTH:
        return f"<nested over {MAX_DEPTH} deep: {type(value).__name__}>"
    budget.open.add(id(value))
    try:
        return _read(value, budget)
    except Exception as error:
        return f"<unreadable {type(value).__name__}: {type(error).__name__}>"
    finally:
        budget.open.discard(id(value))


def _read(value: object, budget: Budget) -> Any:
    reader = _READERS.get(type(value))
    if reader is not None:
        return reader(value, budget)
    for kind, reader in _READERS.items():
        if isinstance(value, kind):
            return reader(value, budget)
    if isinstance(value, Mapping):
        return _mapping(value, budget)
    fields = objects.fields_of(value)
    if fields is not None:
        return _mapping(fields, budget)
    return plain(objects.described(value), budget)


def _mapping(value: Mapping[Any, object], budget: Budget) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in list(islice(value.items(), max(0, budget.nodes) + 1)):
        if budget.nodes <= 0 or budget.chars <= 0:
            found["…"] = f"{len(value) - len(found)} more"
            break
        budget.nodes -= 1
        budget.chars -= NODE_LEN
        name = budget.text(key if type(key) is str else _key(key))
        found[name] = plain(item, budget)
    return found


def _key(key: object) -> str:
    if isinstance(key, str | int | float | bool) or key is None:
        return str(key)
    return str(objects.described(key))


def _sequence(value: Collection[object], budget: Budget) -> list[Any]:
    found: list[Any] = []
    for item in list(islice(value, max(0, budget.nodes) + 1)):
        if budget.nodes <= 0 or budget.chars <= 0:
            found.append(f"… {len(value) - len(found)} more")
            break
        budget.nodes -= 1
        budget.chars -= NODE_LEN
        found.append(plain(item, budget))
    return found


def _named_tuple_or_list(value: Any, budget: Budget) -> Any:
    fields = getattr(type(value), "_fields", None)
    if isinstance(fields, tuple):
        return _mapping(dict(zip(fields, value, strict=True)), budget)
    return _sequence(value, budget)


_READERS: Final[dict[type, Callable[[Any, Budget], Any]]] = {
    dict: _mapping,
    list: _sequence,
    tuple: _named_tuple_or_list,
    set: _sequence,
    frozenset: _sequence,
    objects.deque: _sequence,
    objects.Enum: lambda value, budget: plain(value.value, budget),
    str: lambda value, budget: budget.text(str.__str__(value)),
    bool: lambda value, budget: bool(value),
    int: lambda value, budget: _integer(int(value)),
    float: lambda value, budget: plain(float(value), budget),
    bytes: lambda value, budget: f"<{len(value)} bytes>",
    bytearray: lambda value, budget: f"<{len(value)} bytes>",
    memoryview: lambda value, budget: f"<{value.nbytes} bytes>",
    BaseException: lambda value, budget: budget.text(objects.said(value)),
}
