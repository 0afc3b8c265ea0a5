"""Any value becomes bounded text, and nothing that it does can raise."""

import datetime as dt
import decimal
import enum
import json
import math
import time
import uuid
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import Any

import numpy
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.sdk.values import error_text, value_text

LIMIT = 10_000
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.datetimes(),
    st.decimals(), st.uuids(), st.complex_numbers(), st.fractions(), st.timedeltas(),
)  # fmt: skip
HASHABLE = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.floats(), st.dates())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner, inner), st.dictionaries(HASHABLE, inner),
        st.frozensets(HASHABLE),
    ),
    max_leaves=50,
)  # fmt: skip


def parsed(value: object, limit: int = LIMIT) -> Any:
    return json.loads(value_text(value, limit))


@given(VALUES)
def test_any_value_becomes_text_that_is_json_unless_it_was_text(value: object) -> None:
    text = value_text(value, 1_000_000)
    if isinstance(value, str):
        assert text == value
    else:
        json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@given(VALUES, st.integers(1, 300))
def test_no_value_is_longer_than_the_limit_and_the_note(value: object, limit: int) -> None:
    assert len(value_text(value, limit)) <= limit + len(f"… [{10**9} characters cut]")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(JSON.filter(lambda value: not isinstance(value, str)))
def test_json_values_come_back_as_they_were(value: object) -> None:
    assert parsed(value, 1_000_000) == value


class Color(enum.Enum):
    RED = "red"


@dataclass
class Order:
    number: int
    items: list[str]
    secret: str = field(default="x", repr=False)


class Customer(pydantic.BaseModel):
    name: str
    password: str = pydantic.Field(exclude=True)
    token: pydantic.SecretStr
    orders: list[dict[str, int]] = []


Point = namedtuple("Point", "x y")


class Plain:
    def __init__(self) -> None:
        self.api_key = "sk-secret"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC), "2026-01-02T03:04:00+00:00"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (decimal.Decimal("1.50"), "1.50"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Color.RED, "red"),
        (b"abc", "<3 bytes>"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (10**400, "<integer of 1329 bits>"),
        (ValueError("no"), "ValueError: no"),
        (Order(1, ["a"]), {"number": 1, "items": ["a"]}),
        (
            Customer(name="A", password="p", token="t", orders=[{"n": 1}]),  # type: ignore[arg-type]
            {"name": "A", "token": "SecretStr('**********')", "orders": [{"n": 1}]},
        ),
        (Point(1, 2), {"x": 1, "y": 2}),
        (numpy.float32(0.5), 0.5),
        (numpy.int64(3), 3),
        (numpy.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (numpy.zeros((1000, 3)), "<ndarray float64 (1000, 3)>"),
        (OrderedDict(a=1), {"a": 1}),
        ({1: "a", None: "b", (1, 2): "c"}, {"1": "a", "None": "b", "(1, 2)": "c"}),
        (len, "<len>"),
        (Color, "<Color>"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_known_type_has_its_form(value: object, wanted: object) -> None:
    assert parsed({"value": value})["value"] == wanted


def test_an_objects_attributes_are_not_told_unasked() -> None:
    assert "sk-secret" not in value_text(Plain(), LIMIT)
    assert value_text([Plain()], LIMIT).endswith('test_values.Plain>"]')


def test_a_cycle_is_named() -> None:
    value: dict[str, Any] = {"name": "a"}
    value["self"] = value
    assert parsed(value) == {"name": "a", "self": "<cycle>"}


def test_the_same_value_twice_is_no_cycle() -> None:
    shared = {"a": 1}
    assert parsed([shared, shared]) == [{"a": 1}, {"a": 1}]


def test_deep_nesting_ends() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert "nested over 20 deep" in value_text(value, LIMIT)


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __str__(self) -> str:
        raise RuntimeError("no str")


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


class HostileMapping(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("no items")


def test_what_raises_when_read_is_noted_and_the_rest_is_kept() -> None:
    found = parsed({"a": 1, "bad": Hostile(), "map": HostileMapping(), "err": HostileError()})
    assert found == {
        "a": 1,
        "bad": "<unreadable Hostile: RuntimeError>",
        "map": "<unreadable HostileMapping: RuntimeError>",
        "err": "<unreadable HostileError: RuntimeError>",
    }
    assert error_text(HostileError()) == "HostileError"


def test_a_huge_value_costs_little_and_says_what_is_missing() -> None:
    rows = [{"id": number, "text": "x" * 50} for number in range(1_000_000)]
    started = time.process_time()
    text = value_text(rows, 1_000_000)
    assert time.process_time() - started < 1.0
    assert len(text) < 1_000_100
    assert "more" in json.loads(text)[-1]


def test_a_long_text_is_cut_and_says_so() -> None:
    assert value_text("x" * 1000, 10) == "x" * 10 + "… [990 characters cut]"
    assert parsed({"a": "x" * 1000}, 500)["a"].endswith("characters cut]")
