"""The servers that bench/ingest_peers.py compares: what each holds and shows while it runs."""

import contextlib
import http.client
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import psutil
import psycopg


@dataclass
class Subject:
    """A running server of one kind."""

    label: str
    port: int
    pid: int
    database: str  # postgresql://... or the path of an SQLite file
    headers: Mapping[str, str] = field(default_factory=dict)
    table: ClassVar[str] = "spans"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/traces"

    @property
    def is_postgresql(self) -> bool:
        return self.database.startswith("postgresql:")

    def shows(self, trace_id: str) -> int:
        """How many spans of a trace the API shows."""
        raise NotImplementedError

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The answer of the server's API; None where it has none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self.headers}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        return json.loads(text) if answer.status == 200 and text else None

    def one(self, query: str) -> Any:
        """The only value of a query."""
        if self.is_postgresql:
            with psycopg.connect(self.database) as connection:
                row = connection.execute(query.encode()).fetchone()
        else:
            with contextlib.closing(self._sqlite()) as db:
                row = db.execute(query).fetchone()
        return row[0] if row else None

    def num_stored(self) -> int:
        """Spans in the database."""
        return int(self.one(f"SELECT count(*) FROM {self.table}"))

    def size(self) -> int:
        """Bytes of the database, whatever is in it."""
        if self.is_postgresql:
            return int(self.one("SELECT pg_database_size(current_database())"))
        with contextlib.closing(self._sqlite()) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        files = (Path(self.database + end) for end in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def memory_mb(self) -> tuple[int, int]:
        """Resident and proportional memory of the server, its children and its PostgreSQL."""
        pids = set(family(self.pid))
        if self.is_postgresql:
            with psycopg.connect(self.database) as connection:
                postmaster = psutil.Process(connection.info.backend_pid).ppid()
                others = connection.execute(
                    "SELECT pid FROM pg_stat_activity WHERE datname <> current_database()"
                ).fetchall()
            pids |= set(family(postmaster)) - {pid for (pid,) in others}
        rss = pss = 0
        for pid in pids:
            with contextlib.suppress(psutil.Error):
                full = psutil.Process(pid).memory_full_info()
                rss, pss = rss + full.rss, pss + full.pss
        return rss >> 20, pss >> 20

    def _sqlite(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{quote(self.database)}", uri=True, timeout=60)


def family(pid: int) -> Iterator[int]:
    """The process and all below it."""
    yield pid
    with contextlib.suppress(psutil.Error):
        yield from (child.pid for child in psutil.Process(pid).children(recursive=True))


class Hone(Subject):
    table: ClassVar[str] = "traces_observation"

    def shows(self, trace_id: str) -> int:
        found = self.ask("GET", f"/api/projects/demo/traces/{trace_id}")
        return len(found["observations"]) if found else 0

    def size(self) -> int:
        """Bytes of spans and traces with their indexes; words are indexed later, by a job."""
        return int(
            self.one(
                "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r'"
                " AND relname LIKE 'traces\\_%' AND relname NOT LIKE 'traces\\_search\\_%'"
            )
        )


class Phoenix(Subject):
    def shows(self, trace_id: str) -> int:
        query = "query($t:String!){getTraceByOtelId(traceId:$t){numSpans}}"
        found = self.ask("POST", "/graphql", {"query": query, "variables": {"t": trace_id}})
        trace = found and (found.get("data") or {}).get("getTraceByOtelId")
        return int(trace["numSpans"]) if trace else 0


class Mlflow(Subject):
    def shows(self, trace_id: str) -> int:
        path = f"/api/3.0/mlflow/traces/get?trace_id=tr-{trace_id}&allow_partial=true"
        found = self.ask("GET", path)
        return len(found["trace"].get("spans", ())) if found else 0
