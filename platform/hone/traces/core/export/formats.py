"""Exporters: what comes before the rows, each portion of rows, what comes after them."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import orjson

from hone.traces.core.export.parquet import Parquet

Rows = Sequence[Mapping[str, Any]]


class Exporter(Protocol):
    """Writes rows of the same keys; `columns` are their names, with the kind of value."""

    def __init__(self, columns: Mapping[str, str]) -> None: ...
    def begin(self) -> bytes: ...
    def rows(self, rows: Rows) -> bytes: ...
    def end(self) -> bytes: ...


class Jsonl:
    """One JSON object a line."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.columns = columns

    def begin(self) -> bytes:
        return b""

    def rows(self, rows: Rows) -> bytes:
        return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)

    def end(self) -> bytes:
        return b""


class Csv:
    """RFC 4180 with a header; lists and objects as JSON. A text that a spreadsheet would take for a
    formula gets an apostrophe before it."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.columns = columns

    def begin(self) -> bytes:
        return self._lines([list(self.columns)])

    def rows(self, rows: Rows) -> bytes:
        return self._lines([[_cell(row[name]) for name in self.columns] for row in rows])

    def end(self) -> bytes:
        return b""

    def _lines(self, lines: Sequence[Sequence[object]]) -> bytes:
        text = io.StringIO()
        csv.writer(text).writerows(lines)
        return text.getvalue().encode()


def _cell(value: object) -> object:
    if isinstance(value, str):
        return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
    if value is None or isinstance(value, int | float):
        return value
    text = orjson.dumps(value).decode()
    return text[1:-1] if text[:1] == '"' else text


FORMATS: Final[Mapping[str, tuple[type[Exporter], str]]] = {
    "csv": (Csv, "text/csv; charset=utf-8"),
    "jsonl": (Jsonl, "application/x-ndjson"),
    "parquet": (Parquet, "application/vnd.apache.parquet"),
}
