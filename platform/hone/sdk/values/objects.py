"""Objects that are no container of JSON's: their fields, or a short description."""

import dataclasses
import datetime as dt
import decimal
import pathlib
import types
import uuid
from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

__all__ = ["Enum", "deque", "described", "fields_of", "said"]

MAX_REPR_LEN: Final = 1000
MAX_ARRAY_ITEMS: Final = 100
_SPELLED: Final = (decimal.Decimal, uuid.UUID, pathlib.PurePath, dt.timedelta, dt.tzinfo)
_NAMED: Final = (
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
)


def fields_of(value: object) -> Mapping[str, object] | None:
    """The fields of a dataclass, pydantic model, attrs class or small array; None of others.

    Fields that say that they are not for printing stay out: `repr=False`, `exclude=True`.
    """
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(kind) if f.repr}
    if isinstance(getattr(kind, "model_fields", None), Mapping):
        return _of_model(value, kind)
    attributes = getattr(kind, "__attrs_attrs__", None)
    if attributes is not None:
        return {a.name: getattr(value, a.name) for a in attributes if a.repr}
    return None


def _of_model(value: object, kind: Any) -> Mapping[str, object]:
    shown = {n for n, f in kind.model_fields.items() if f.repr and not f.exclude}
    own = {name: item for name, item in vars(value).items() if name in shown}
    return {**own, **(getattr(value, "__pydantic_extra__", None) or {})}


def described(value: object) -> Any:
    """A value of JSON, or a text, for anything that has no fields to show."""
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, _SPELLED):
        return str(value)
    if isinstance(value, _NAMED):
        return f"<{getattr(value, '__qualname__', None) or value.__name__}>"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return _array(value)
    # Objects without a text of their own: an address in memory says nothing.
    if type(value).__repr__ is object.__repr__:
        return f"<{type(value).__module__}.{type(value).__qualname__}>"
    text = repr(value)
    return text if len(text) <= MAX_REPR_LEN else f"{text[:MAX_REPR_LEN]}…"


def _array(value: Any) -> Any:
    """Numbers of a small array (numpy, torch, …); of a large one type and shape."""
    shape = tuple(int(size) for size in value.shape)
    num_items = 1
    for size in shape:
        num_items *= size
    if num_items <= MAX_ARRAY_ITEMS and str(value.dtype) != "object":
        return value.tolist()
    return f"<{type(value).__name__} {value.dtype} {shape}>"


def said(error: BaseException) -> str:
    """`ValueError: what it says`."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
