"""Lists as files."""

import csv
import gzip
import hashlib
import io
import re
import struct
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from hone.accounts.models import Project
from hone.common.errors import InvalidError, NotFoundError, UnauthenticatedError
from hone.traces.api import export_door
from hone.traces.core.export import parquet
from hone.traces.core.export.parquet import Parquet
from hone.traces.core.span import Span
from hone.traces.services import spans_ingest

Make = Callable[..., Span]
FOOTER = "6dbf9c2c0fe1a2f604021ed257f0d0e8cd009a2d7d7ceae24d3aa50a602a2e94"
PATH = "/api/projects/demo/export"


@pytest.fixture
def seven(project: Project, make_span: Make, base_ns: int) -> None:
    spans = [
        make_span(trace_id=f"{n + 1:032x}", name=f"trace {n}", input='=cmd "x",\n1',
                  tags=("a", "b"), start_ns=base_ns + n // 5 * 1000, end_ns=base_ns + 5000)
        for n in range(7)
    ]  # fmt: skip
    spans_ingest(project_id=project.id, spans=spans)


@pytest.fixture
def export(asgi: Any, api_key: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setattr(export_door, "PORTION", 3)

    def get(what: str, query: str = "", headers: Any = None) -> Any:
        headers = {"host": "localhost", **(api_key.bearer if headers is None else headers)}
        return asgi(export_door.application, "GET", f"{PATH}/{what}", query=query, headers=headers)

    return get


@pytest.mark.parametrize("what", ["traces", "observations"])
def test_lines_hold_every_row(seven: None, export: Any, what: str) -> None:
    answer = export(what, "format=jsonl")
    assert answer.status == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="demo-{what}.jsonl"'
    rows = [orjson.loads(line) for line in answer.body.splitlines()]
    assert [row["name"] for row in rows] == [f"trace {n}" for n in range(6, -1, -1)]


def test_a_table_is_safe_to_open(seven: None, export: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(export("traces", "name=trace 3").body.decode())))
    assert len(rows) == 1
    assert rows[0]["input_preview"] == '\'=cmd "x", 1'
    assert rows[0]["tags"] == '["a","b"]'
    assert rows[0]["cost"] == ""
    assert datetime.fromisoformat(rows[0]["started_at"]).tzinfo is not None


def test_a_parquet_file_has_its_shape(seven: None, export: Any) -> None:
    body = export("observations", "format=parquet").body
    assert (body[:4], body[-4:]) == (b"PAR1", b"PAR1")
    footer = body[-8 - int.from_bytes(body[-8:-4], "little") : -8]
    for column in (b"trace_id", b"started_at", b"tokens_per_second"):
        assert footer.count(b"\x18" + bytes([len(column)]) + column) >= 2  # schema, row groups
    assert len(gzips(body)) == 3 * 25


MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=UTC)


def parquet_file() -> bytes:
    file = Parquet({"a": "text", "n": "int", "f": "float", "t": "time", "j": "json"})
    rows = [
        {"a": "x", "n": 1, "f": 0.5, "t": MOMENT, "j": ["b"]},
        {"a": None, "n": -(2**40), "f": None, "t": None, "j": None},
    ]
    return file.begin() + file.rows(rows) + file.end()


def test_parquet_bytes_are_those_that_pyarrow_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow 26.0.1 read this file as the rows it was made from."""
    data = parquet_file()
    pages = [gzip.decompress(data[at:end]) for at, end in gzips(data)]
    here, both = b"\2\0\0\0\3\1", b"\2\0\0\0\3\3"
    assert pages == [
        here + b"\1\0\0\0x",
        both + struct.pack("<qq", 1, -(2**40)),
        here + struct.pack("<d", 0.5),
        here + struct.pack("<q", round(MOMENT.timestamp() * 10**6)),
        here + b'\5\0\0\0["b"]',
    ]
    # The footer tells packed sizes, which depend on the deflate at hand: none here.
    monkeypatch.setattr(parquet.gzip, "compress", lambda body, **_: body)
    data = parquet_file()
    assert hashlib.sha256(data[-8 - int.from_bytes(data[-8:-4], "little") :]).hexdigest() == FOOTER


def gzips(data: bytes) -> list[tuple[int, int]]:
    """Where the pages' contents lie."""
    starts = [found.start() for found in re.finditer(b"\x1f\x8b\x08", data)]
    ends = [*starts[1:], len(data)]
    return [(at, at + packed_length(data[at:end])) for at, end in zip(starts, ends, strict=True)]


def packed_length(data: bytes) -> int:
    inflate = zlib.decompressobj(wbits=31)
    inflate.decompress(data)
    return len(data) - len(inflate.unused_data)


@pytest.mark.parametrize(
    ("query", "field"), [("format=xls", "format"), ("colour=red", "colour"), ("filter={", "filter")]
)
def test_bad_queries_are_refused_before_anything_is_sent(
    project: Project, export: Any, query: str, field: str
) -> None:
    with pytest.raises(InvalidError) as caught:
        export("traces", query)
    assert caught.value.field == field


@pytest.mark.parametrize("what", ["traces", "observations"])
def test_charlie_and_strangers_are_refused(
    seven: None, export: Any, foreign_key: Any, what: str
) -> None:
    with pytest.raises(NotFoundError):
        export(what, headers=foreign_key.bearer)
    with pytest.raises(UnauthenticatedError):
        export(what, headers={})
