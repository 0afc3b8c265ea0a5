"""Conditions as SQL on columns that a list knows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hone.common.conditions.grammar import Condition
from hone.common.errors import InvalidError

Clause = tuple[str, list[Any]]  # SQL and its values
# Which columns a type of condition can be about.
_FITS: Final[Mapping[str, tuple[str, ...]]] = {
    "datetime": ("time",),
    "string": ("text", "array"),
    "number": ("number",),
    "stringOptions": ("text", "array"),
    "categoryOptions": ("text", "array"),
    "arrayOptions": ("text", "array"),
    "stringObject": ("json",),
    "numberObject": ("json",),
    "boolean": ("flag",),
    "null": ("text", "number", "time", "flag", "array", "json"),
}
# In any case of letters; only `=` and `<>` tell them apart.
_LIKE: Final = {
    "contains": "%{}%",
    "matches": "%{}%",
    "does not contain": "%{}%",
    "starts with": "{}%",
    "ends with": "%{}",
}
_NUMBER: Final = "CASE WHEN {0} ~ '^-?[0-9]+([.][0-9]+)?$' THEN {0}::numeric END"


@dataclass(frozen=True, slots=True)
class Column:
    """What a column's name means: an SQL expression and what it holds (text, number, time, flag,
    array of text, or JSON text).

    `read` turns a value of the caller into the column's own, such as another spelling. `term` is
    the field of a search index that holds its values, or `*` where the index holds its words.
    """

    sql: str
    kind: str = "text"
    read: Callable[[Any], Any] | None = None
    term: str | None = None


def conditions_sql(conditions: Iterable[Condition], columns: Mapping[str, Column]) -> Clause:
    """The conditions as one SQL condition ("TRUE" for none) and its values.

    Raises InvalidError for a column that `columns` does not know.
    """
    clauses, values = ["TRUE"], []
    for condition in conditions:
        clause, given = condition_sql(condition, columns)
        clauses.append(f"({clause})")
        values += given
    return " AND ".join(clauses), values


def condition_sql(condition: Condition, columns: Mapping[str, Column]) -> Clause:
    """As `conditions_sql`, of one."""
    column = columns.get(condition.column)
    if column is None:
        known = ", ".join(sorted(columns))
        raise _bad(f"column: {condition.column[:60]!r} is not known; known: {known}")
    if column.kind not in _FITS[condition.type]:
        fitting = ", ".join(kind for kind, fits in _FITS.items() if column.kind in fits)
        raise _bad(f"type: {condition.column} takes {fitting}, got {condition.type}")
    return _clause(condition, column)


def escaped(text: str) -> str:
    """`text` as part of a LIKE pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _bad(message: str) -> InvalidError:
    return InvalidError(f"filter: {message}", field="filter")


def _clause(condition: Condition, column: Column) -> Clause:
    kind, operator, value = condition.type, condition.operator, condition.value
    if kind == "null":
        return f"({column.sql}) {operator.upper()}", []
    if kind.endswith("Options"):
        read = column.read or str
        return _options(column, operator, [*map(read, value)])
    if column.read is not None:
        value = column.read(value)
    if kind.endswith("Object"):
        return _member(column, condition)
    if kind == "string":
        is_array = column.kind == "array"
        text = f"array_to_string({column.sql}, ',')" if is_array else column.sql
        return _text(text, operator, value)
    return _compared(column.sql, operator), [value]


def _compared(sql: str, operator: str) -> str:
    """What has no value is unequal to any."""
    return f"({sql}) {'IS DISTINCT FROM' if operator == '<>' else operator} %s"


def _member(column: Column, condition: Condition) -> Clause:
    member, key, operator = f"(({column.sql})::json ->> %s)", condition.key, condition.operator
    if operator in ("is set", "is not set"):
        return f"{member} IS {'NOT ' if operator == 'is set' else ''}NULL", [key]
    if condition.type == "numberObject":
        return _compared(_NUMBER.format(member), operator), [key, key, condition.value]
    clause, values = _text(member, operator, condition.value)
    return clause, [key, *values]


def _options(column: Column, operator: str, values: list[str]) -> Clause:
    if column.kind == "array":
        found = f"({column.sql})::text[] {'@>' if operator == 'all of' else '&&'} %s::text[]"
    elif "" in values:
        found = f"coalesce({column.sql}, '') = ANY(%s)"
    else:
        found = f"({column.sql}) = ANY(%s)"
    # What has no value is none of them.
    return (f"({found}) IS NOT TRUE" if operator == "none of" else found), [values]


def _text(sql: str, operator: str, value: str) -> Clause:
    if operator in ("=", "<>"):
        return _compared(sql, operator), [value]
    # Folding only ASCII, PostgreSQL compares several times faster than by the rules of a language.
    fold = ' COLLATE "C"' if value.isascii() else ""
    found = f"({sql}){fold} ILIKE %s"
    clause = f"({found}) IS NOT TRUE" if operator == "does not contain" else found
    return clause, [_LIKE[operator].format(escaped(value))]
