"""How long does it take to erase millions of observations, while others read and write?

    DATABASE_URL=postgresql://... python bench/erase.py --database hone_erase
        [--observations 5000000] [--seeded] [--beside 200000] [--what traces|project|user] [--dry]

Fills a database as seed_traces.py does (`--seeded`: it is filled already; it is changed!), puts
`--beside` observations of a second project into the same partitions, and has everything of the
first erased by the product's own job, or with `--what user` 300,000 spans of one user. Meanwhile
one thread sends spans to both projects and one reads the second project's newest traces.

Exits with 1 unless: nothing that was there before is left of what was to go, in any table; the
second project's rows are what they were; every span that was acknowledged meanwhile is there, with
the summary of its trace.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import figures
import psycopg

ROOT = Path(__file__).parents[1]
USER, USER_SPANS = "erased-user", 300_000
PAUSE_S = 0.02
# Every table whose rows belong to a project, as `project_id`.
TABLES = (
    "traces_trace", "traces_observation", "traces_legacy", "traces_echo", "traces_score",
    "traces_comment", "traces_media", "traces_search_segment",
)  # fmt: skip
# A sample of the first project's traces again in the second.
BESIDE = """
    INSERT INTO {table} ({columns}) SELECT {values} FROM {table} s
    WHERE s.project_id = %(from)s AND get_byte(s.trace_id, 0) * 256 + get_byte(s.trace_id, 1)
        < %(share)s * 65536
"""
DIGEST = """
    SELECT count(*), coalesce(sum(hashtextextended({row}::text, 0)), 0) FROM {table} o
    WHERE project_id = %s AND get_byte(o.trace_id, 15) <> 255
"""


class Beside(threading.Thread):
    """Does one thing again and again, and keeps how long it took at most."""

    def __init__(self, name: str) -> None:
        super().__init__(daemon=True, name=name)
        self.ended, self.longest_s, self.number = threading.Event(), 0.0, 0
        self.failures: list[str] = []

    def run(self) -> None:
        from django.db import connection  # noqa: PLC0415

        while not self.ended.wait(PAUSE_S):
            began = time.perf_counter()
            try:
                self.once()
            except Exception as error:  # what happens to a client is what is measured
                self.failures.append(repr(error)[:200])
            self.longest_s = max(self.longest_s, time.perf_counter() - began)
            self.number += 1
        connection.close()

    def once(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        self.ended.set()
        self.join()


class Writes(Beside):
    """Spans of both projects, of now and of weeks ago, in new traces whose ids end in ff."""

    def __init__(self, projects: list[int]) -> None:
        super().__init__("writes")
        self.projects = projects
        self.acknowledged: list[tuple[int, str, str]] = []

    def once(self) -> None:
        from hone.traces.core.span import Span  # noqa: PLC0415
        from hone.traces.services import spans_ingest  # noqa: PLC0415

        for project in self.projects:
            trace_id, now = os.urandom(15).hex() + "ff", time.time_ns()
            ago = (self.number % 27) * 86_400 * 10**9
            spans = [
                Span(trace_id=trace_id, span_id=os.urandom(8).hex(), name="beside",
                     start_ns=now - ago + n, end_ns=now - ago + n + 1)
                for n in range(20)
            ]  # fmt: skip
            spans_ingest(project_id=project, spans=spans)
            self.acknowledged += [(project, trace_id, span.span_id) for span in spans]


class Reads(Beside):
    """The newest traces of a project, and one of them with its observations."""

    def __init__(self, project: int) -> None:
        super().__init__("reads")
        self.project = project

    def once(self) -> None:
        from django.db import connection  # noqa: PLC0415

        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT trace_id, started_at, latest_start_at FROM traces_trace"
                " WHERE project_id = %s ORDER BY started_at DESC LIMIT 50",
                [self.project],
            )
            for row in cursor.fetchall()[:1]:
                cursor.execute(
                    "SELECT name FROM traces_observation WHERE project_id = %s AND trace_id = %s"
                    " AND start_time BETWEEN %s AND %s",
                    [self.project, *row],
                )
                cursor.fetchall()


def columns_of(db: psycopg.Connection[Any], table: str) -> list[str]:
    rows = db.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
        " AND NOT attisdropped",
        [table],
    )
    return [name for (name,) in rows]


def beside_make(url: str, source: int, target: int, share: float) -> None:
    """Rows of a second project in the same partitions."""
    from hone.traces.services.rollups import rollups_grow  # noqa: PLC0415
    from hone.traces.services.search import search_index, search_merge  # noqa: PLC0415

    with psycopg.connect(url, autocommit=True) as db:
        [(seq,)] = db.execute("SELECT nextval('traces_seq')").fetchall()
        for table in ("traces_observation", "traces_trace"):
            columns = columns_of(db, table)
            numbers = str(seq) if table == "traces_observation" else "nextval('traces_seq')"
            changed = {"project_id": "%(to)s", "seq": numbers}
            values = [changed.get(name, f"s.{name}") for name in columns]
            query = BESIDE.format(table=table, columns=", ".join(columns), values=", ".join(values))
            db.execute(query, {"from": source, "to": target, "share": share})
        db.execute("VACUUM (ANALYZE) traces_trace")
        db.execute("VACUUM (ANALYZE) traces_observation")
    while search_index() or search_merge() or rollups_grow():
        pass


def user_make(url: str, project: int) -> None:
    """Give one user so many spans of traces all over the time."""
    with psycopg.connect(url, autocommit=True) as db:
        [(total,)] = db.execute(
            "SELECT sum(observation_count)::bigint FROM traces_trace WHERE project_id = %s",
            [project],
        ).fetchall()
        share = min(1.0, USER_SPANS / total)
        for table in ("traces_observation", "traces_trace"):
            db.execute(
                f"UPDATE {table} SET user_id = %s WHERE project_id = %s"
                " AND get_byte(trace_id, 0) * 256 + get_byte(trace_id, 1) < %s * 65536",
                [USER, project, share],
            )
        db.execute("TRUNCATE traces_rollup_fix")
        db.execute("VACUUM (ANALYZE) traces_trace")
        db.execute("VACUUM (ANALYZE) traces_observation")


def digest(url: str, project: int) -> dict[str, Any]:
    """What is stored of a project, but for what is written meanwhile."""
    with psycopg.connect(url) as db:
        return {
            table: db.execute(DIGEST.format(row="o", table=table), [project]).fetchone()
            for table in ("traces_trace", "traces_observation")
        }


def left_of(url: str, project: int, condition: str) -> dict[str, int]:
    """Rows of what was to go."""
    found = {}
    with psycopg.connect(url) as db:
        for table in TABLES:
            where = condition if "user_id" in columns_of(db, table) else condition and "false"
            if table in ("traces_trace", "traces_observation"):
                where = f"{where or 'true'} AND get_byte(trace_id, 15) <> 255"
            query = f"SELECT count(*) FROM {table} WHERE project_id = %s AND {where or 'true'}"
            [(number,)] = db.execute(query, [project]).fetchall()
            if number and not (table == "traces_search_segment" and number < 8):  # of meanwhile
                found[table] = number
    return found


def missing(url: str, writes: Writes, gone: int | None) -> int:
    """Acknowledged spans that are not there, or whose trace does not count them."""
    with psycopg.connect(url) as db:
        rows = db.execute(
            "SELECT o.project_id, encode(o.trace_id, 'hex'), encode(o.span_id, 'hex')"
            " FROM traces_observation o JOIN (SELECT t.* FROM traces_trace t"
            "   WHERE get_byte(t.trace_id, 15) = 255 AND t.observation_count = 20) t"
            " USING (project_id, trace_id)"
        ).fetchall()
    return len({one for one in writes.acknowledged if one[0] != gone} - set(rows))


def erase(what: str, project: Any, user: Any) -> tuple[float, int]:
    """Seconds from the wish to the word that it is done, and traces that went."""
    from hone.accounts.core.roles import Role  # noqa: PLC0415
    from hone.accounts.selectors import Access  # noqa: PLC0415
    from hone.traces.services import erasures_run  # noqa: PLC0415
    from hone.traces.services.erasures import erasure_request  # noqa: PLC0415

    began = time.perf_counter()
    erasure = erasure_request(
        access=Access(project, Role.OWNER, user=user), what=what,
        user_id=USER if what == "user" else "",
    )  # fmt: skip
    erasures_run()
    seconds = time.perf_counter() - began
    erasure.refresh_from_db()
    assert erasure.state == "done", erasure.state
    return seconds, erasure.trace_count


def measure(given: argparse.Namespace, url: str) -> tuple[list[str], dict[str, tuple[Any, str]]]:
    from hone.accounts.models import Project, User  # noqa: PLC0415

    first, owner = Project.objects.order_by("pk")[0], User.objects.order_by("pk")[0]
    other, _ = Project.objects.get_or_create(
        organization=first.organization, slug="beside", defaults={"name": "Beside"}
    )
    with psycopg.connect(url) as db:
        [(total,)] = db.execute(
            "SELECT sum(observation_count)::bigint FROM traces_trace WHERE project_id = %s",
            [first.pk],
        ).fetchall()
    if given.beside:
        beside_make(url, first.pk, other.pk, given.beside / total)
    if given.what == "user":
        user_make(url, first.pk)
    before = digest(url, other.pk)
    writes, reads = Writes([first.pk, other.pk]), Reads(other.pk)
    gone = None
    if given.what == "project":  # its keys end at once, nobody writes to it
        writes.projects, gone = [other.pk], first.pk
    for thread in (writes, reads):
        thread.start()
    project_id = first.pk
    seconds, traces = erase(given.what, first, owner)
    for thread in (writes, reads):
        thread.end()
    faults = [f"{t.name} failed: {t.failures[:3]}" for t in (writes, reads) if t.failures]
    if left := left_of(url, project_id, f"user_id = '{USER}'" if given.what == "user" else ""):
        faults.append(f"left: {left}")
    if digest(url, other.pk) != before:
        faults.append("the other project's rows are not what they were")
    if lost := missing(url, writes, gone):
        faults.append(f"{lost} acknowledged spans are missing")
    spans = USER_SPANS if given.what == "user" else total
    named = f"{given.what} of {spans / 1e6:.3g} million observations"
    if given.beside:
        named += f" beside {given.beside / 1e6:.3g} million"
    return faults, {
        f"erasing, {named}": (round(seconds, 1), "s"),
        f"traces gone, {named}": (traces, "traces"),
        f"longest write meanwhile, {named}": (round(writes.longest_s * 1000), "ms"),
        f"longest read meanwhile, {named}": (round(reads.longest_s * 1000), "ms"),
        f"writes meanwhile, {named}": (writes.number, "batches"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", default="hone_erase")
    parser.add_argument("--observations", type=int, default=5_000_000)
    parser.add_argument("--seeded", action="store_true", help="the database is filled already")
    parser.add_argument("--beside", type=int, default=0, help="observations of another project")
    parser.add_argument("--what", choices=("traces", "project", "user"), default="traces")
    parser.add_argument("--dry", action="store_true", help="write no results")
    given = parser.parse_args()
    if not given.seeded:
        subprocess.run(
            [sys.executable, ROOT / "bench/seed_traces.py", "--database", given.database,
             "--observations", str(given.observations)],
            check=True,
        )  # fmt: skip
    url = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{given.database}"))
    prefix = hashlib.sha256(given.database.encode()).hexdigest()[:8]
    os.environ |= {
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "hone.config.settings.prod",
        "HONE_SERVER_SECRET": "bench" * 10,
        "HONE_LOG_LEVEL": "ERROR",
        "HONE_REDIS_PREFIX": f"hone-erase-{prefix}",
    }
    import django  # noqa: PLC0415

    django.setup(set_prefix=False)
    from django.core.management import call_command  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    faults, found = measure(given, url)
    for name, (value, unit) in found.items():
        print(f"{name:80} {value} {unit}")
    print("\n".join(faults) or "what was to go is gone, and nothing else")
    if not given.dry:
        figures.write("erase", figures.rows(found), keep=True)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
