"""The one grammar of filters, read and as SQL."""

from datetime import UTC, datetime
from decimal import Decimal

import orjson
import pytest

from hone.common.conditions import Column, conditions_of, conditions_sql
from hone.common.errors import InvalidError

COLUMNS = {
    "name": Column("o.name"),
    "type": Column("o.type", read=str.lower),
    "latency": Column("o.latency", "number"),
    "startTime": Column("o.start_time", "time"),
    "tags": Column("o.tags", "array"),
    "metadata": Column("o.metadata", "json"),
    "isRoot": Column("o.is_root", "flag"),
}


def sql(*conditions: dict) -> tuple[str, list]:
    return conditions_sql(conditions_of(orjson.dumps(conditions).decode()), COLUMNS)


def condition(type: str, column: str, operator: str, value=None, **more) -> dict:
    return {"type": type, "column": column, "operator": operator, "value": value, **more}


@pytest.mark.parametrize(
    ("given", "clause", "values"),
    [
        (condition("string", "name", "=", "x"), "(o.name) = %s", ["x"]),
        (
            condition("string", "name", "contains", "5%_"),
            '(o.name) COLLATE "C" ILIKE %s',
            ["%5\\%\\_%"],
        ),
        (condition("string", "name", "starts with", "x"), '(o.name) COLLATE "C" ILIKE %s', ["x%"]),
        (condition("string", "type", "=", "SPAN"), "(o.type) = %s", ["span"]),
        (
            condition("string", "name", "does not contain", "ö"),
            "((o.name) ILIKE %s) IS NOT TRUE",
            ["%ö%"],
        ),
        (condition("number", "latency", ">=", 1.5), "(o.latency) >= %s", [Decimal("1.5")]),
        (condition("stringOptions", "type", "any of", ["SPAN"]), "(o.type) = ANY(%s)", [["span"]]),
        (
            condition("stringOptions", "name", "none of", ["a"]),
            "((o.name) = ANY(%s)) IS NOT TRUE",
            [["a"]],
        ),
        (
            condition("arrayOptions", "tags", "all of", ["a"]),
            "(o.tags)::text[] @> %s::text[]",
            [["a"]],
        ),
        (
            condition("stringObject", "metadata", "=", "v", key="k"),
            "(((o.metadata)::json ->> %s)) = %s",
            ["k", "v"],
        ),
        (condition("boolean", "isRoot", "=", True), "(o.is_root) = %s", [True]),
        (condition("number", "latency", "!=", 2), "(o.latency) IS DISTINCT FROM %s", [Decimal(2)]),
        (
            condition("stringOptions", "name", "any of", ["", "a"]),
            "coalesce(o.name, '') = ANY(%s)",
            [["", "a"]],
        ),
        (condition("null", "name", "is null"), "(o.name) IS NULL", []),
        (
            condition("datetime", "startTime", "<", "2026-11-30T00:00:00Z"),
            "(o.start_time) < %s",
            [datetime(2026, 11, 30, tzinfo=UTC)],
        ),
    ],
)
def test_conditions_as_sql(given: dict, clause: str, values: list) -> None:
    assert sql(given) == (f"TRUE AND ({clause})", values)


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "{}",
        "[1]",
        "[{}]",
        *(
            orjson.dumps([entry]).decode()
            for entry in (
                condition("string", "name", "like", "x"),
                condition("string", "name", "=", 3),
                condition("string", "name", "=", "\x00"),
                condition("string", "name", "=", "x" * 1001),
                condition("stringOptions", "name", "any of", ["x"] * 501),
                condition("stringObject", "metadata", "=", "v", key="\x00"),
                condition("arrayOptions", "tags", "all of", [1]),
                condition("number", "latency", "=", "3"),
                condition("number", "latency", "=", True),
                condition("number", "name", "=", 3),
                condition("string", "latency", "=", "3"),
                condition("datetime", "startTime", "<", "yesterday"),
                condition("stringOptions", "name", "any of", "x"),
                condition("stringObject", "metadata", "=", "v"),
                condition("stringObject", "name", "=", "v", key="k"),
                condition("string", "nothing", "=", "x"),
                condition("magic", "name", "=", "x"),
            )
        ),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(InvalidError) as caught:
        conditions_sql(conditions_of(text), COLUMNS)
    assert caught.value.field == "filter"


def test_no_filter_filters_nothing() -> None:
    assert conditions_sql(conditions_of(None), COLUMNS) == ("TRUE", [])


def test_what_is_wrong_is_named_by_its_place() -> None:
    entries = [condition("string", "name", "=", "x"), condition("string", "name", "like", "x")]
    with pytest.raises(InvalidError, match=r"filter\[1\]\.operator: got 'like' for string, want"):
        conditions_of(orjson.dumps(entries).decode())
    with pytest.raises(InvalidError, match="latency takes number, null, got string"):
        sql(condition("string", "latency", "=", "x"))
