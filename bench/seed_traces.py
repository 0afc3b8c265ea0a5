"""Fill a database with millions of observations, quickly.

    DATABASE_URL=postgresql://... python bench/seed_traces.py [--database hone_reads]
        [--observations 5000000]

Makes the database beside DATABASE_URL's, writes some thousand traces through the product's own
services, and multiplies them inside the database: each copy lies later, has ids, sessions and order
numbers of its own and shares the words. Then it has the search index made and the figures by hour
rolled up. `--drop` drops it.
What is imported late needs settings that name the new database.
"""

import argparse
import json
import os
import random
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

ROOT = Path(__file__).parents[1]
DAYS = 28
BASE_TRACES = 12_500
SPANS = 4  # of a trace
NEEDLE = "quartzfinder"  # stands in one trace of the base, so once in each copy
MODELS = {"gpt-4o": 40, "gpt-4o-mini": 30, "claude-sonnet": 19, "gemini-1.5-pro": 10, "o3": 1}
SYLLABLES = ["ka", "lo", "mi", "nu", "pe", "ra", "so", "ti", "vu", "ze", "an", "el", "in", "or",
             "ber", "stra", "qui", "fen", "dol", "wy"]  # fmt: skip


class Prose:
    """Words as frequent as words are: the n-th has a share of about 1/n."""

    def __init__(self, seed: int, size: int = 60_000) -> None:
        self.random = random.Random(seed)
        spell = random.Random(7)
        self.words = [
            "".join(spell.choices(SYLLABLES, k=1 + n.bit_length() // 5)) for n in range(size)
        ]
        total = 0.0
        self.shares = [total := total + 1 / (n + 4) for n in range(size)]

    def text(self, num_words: int) -> str:
        return " ".join(self.random.choices(self.words, cum_weights=self.shares, k=num_words))


def spans_of(prose: Prose, number: int, start_ns: int) -> Iterator[Any]:
    """A trace of an agent, a retriever and two generations."""
    from hone.traces.core.span import Span  # noqa: PLC0415

    pick = prose.random
    trace_id, ids = pick.randbytes(16).hex(), [pick.randbytes(8).hex() for _ in range(SPANS)]
    question, answer = prose.text(20), prose.text(80)
    if number == BASE_TRACES // 2:
        question += f" {NEEDLE}"
    common = {
        "trace_id": trace_id,
        "session_id": f"session-{number // 10}",
        "user_id": f"user-{pick.randrange(2000)}",
        "environment": "production" if number % 10 else "staging",
        "tags": (f"team-{pick.randrange(12)}",),
    }
    second = 10**9
    yield Span(**common, span_id=ids[0], name=f"agent {number % 7}", type="agent",
               start_ns=start_ns, end_ns=start_ns + 5 * second, input=question,
               output=answer)  # fmt: skip
    documents = json.dumps([{"id": f"doc-{n}", "content": prose.text(35)} for n in range(3)])
    yield Span(**common, span_id=ids[1], parent_span_id=ids[0], name="retrieve", type="retriever",
               start_ns=start_ns + 10**6, end_ns=start_ns + second // 20, input=question,
               output=documents)  # fmt: skip
    for part in (2, 3):
        [model] = pick.choices(list(MODELS), MODELS.values())
        begin = start_ns + part * second
        is_prompted = part == 2 and number % 5 > 0  # of 5 million observations a million
        messages = [{"role": "system", "content": prose.text(35)},
                    {"role": "user", "content": f"{question} {prose.text(60)}"}]  # fmt: skip
        yield Span(
            **common, span_id=ids[part], parent_span_id=ids[0], name=f"chat {model}",
            type="generation", model=model, start_ns=begin, end_ns=begin + second,
            first_token_ns=begin + second // 5, input=json.dumps(messages), output=answer,
            usage={"input": 300, "output": 120, "total": 420},
            status="error" if pick.random() < 0.03 else "ok",
            prompt_name=f"answer-{number % 20}" if is_prompted else None,
            prompt_version=1 + number % 3 if is_prompted else None,
        )  # fmt: skip


def base_write(project_id: int, start: datetime, length: timedelta) -> None:
    """The traces that are multiplied, through the same services as any other."""
    from hone.traces.services import spans_ingest  # noqa: PLC0415

    prose = Prose(1)
    first_ns, step_ns = int(start.timestamp()) * 10**9, int(length.total_seconds() * 10**9)
    for at in range(0, BASE_TRACES, 500):
        spans = [
            span
            for number in range(at, min(at + 500, BASE_TRACES))
            for span in spans_of(prose, number, first_ns + step_ns * number // BASE_TRACES)
        ]
        spans_ingest(project_id=project_id, spans=spans)


# How a copy differs from the base; other columns are the same. {k} is its number.
CHANGED = {
    "trace_id": "decode(md5({t}.trace_id || '{k}'::bytea), 'hex')",
    "seq": "nextval('traces_seq')",
    "session_id": "{t}.session_id || '-{k}'",
    **{name: "{t}." + name + " + interval '{shift} seconds'" for name in
       ("start_time", "end_time", "first_token_at", "started_at", "ended_at", "latest_start_at")},
    "input": "CASE WHEN {t}.type = 'agent' THEN {t}.input || ' order '"
             " || substr(md5({t}.trace_id || '{k}'::bytea), 1, 10) ELSE {t}.input END",
}  # fmt: skip


def copy_make(db: psycopg.Connection[Any], number: int, shift_s: float, seq: int) -> None:
    """One copy of the base; all its observations have one number, as a batch would give."""
    for table, alias in (("traces_observation", "o"), ("traces_trace", "t")):
        rows = db.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
            " AND NOT attisdropped AND attgenerated = ''",
            [table],
        ).fetchall()
        columns = [name for (name,) in rows]
        values = []
        for name in columns:
            changed = CHANGED.get(name, "{t}." + name)
            if name == "seq" and alias == "o":
                changed = str(seq)
            values.append(changed.format(t=alias, k=number, shift=shift_s))
        key = "start_time" if alias == "o" else "started_at"
        db.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)}"
            f" FROM {table} {alias} WHERE {alias}.seq <= %s ORDER BY {key}",
            [BASE["seq"]],
        )


BASE: dict[str, int] = {}


def multiply(url: str, copies: int, length: timedelta) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        [(BASE["seq"],)] = db.execute("SELECT last_value FROM traces_seq").fetchall()
        db.execute("SET synchronous_commit = off")
        for number in range(1, copies):
            [(seq,)] = db.execute("SELECT nextval('traces_seq')").fetchall()
            copy_make(db, number, length.total_seconds() * number, seq)
        db.execute("VACUUM (ANALYZE) traces_trace")
        db.execute("VACUUM (ANALYZE) traces_observation")


def index_make() -> None:
    from hone.traces.services.figures import figures_count, figures_note  # noqa: PLC0415
    from hone.traces.services.rollups import rollups_grow  # noqa: PLC0415
    from hone.traces.services.search import search_index, search_merge  # noqa: PLC0415

    more = True
    while more:
        more = search_index()
        while search_merge():
            pass
    while rollups_grow():
        pass
    while figures_note():
        pass
    while figures_count(quiet=timedelta(0)):
        pass


def sizes(url: str) -> dict[str, int]:
    with psycopg.connect(url) as db:
        rows = db.execute(
            "SELECT coalesce(parent.relname, c.relname), sum(pg_total_relation_size(c.oid))::bigint"
            " FROM pg_class c LEFT JOIN pg_inherits i ON inhrelid = c.oid"
            " LEFT JOIN pg_class parent ON parent.oid = inhparent"
            " WHERE c.relkind = 'r' AND c.relname LIKE 'traces_%' GROUP BY 1"
        ).fetchall()
    return dict(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", default="hone_reads")
    parser.add_argument("--observations", type=int, default=5_000_000)
    parser.add_argument("--drop", action="store_true")
    given = parser.parse_args()
    admin = os.environ["DATABASE_URL"]
    url = urlunsplit(urlsplit(admin)._replace(path=f"/{given.database}"))
    with psycopg.connect(admin, autocommit=True) as db:
        db.execute(f"DROP DATABASE IF EXISTS {given.database} WITH (FORCE)")
        if given.drop:
            return
        db.execute(f"CREATE DATABASE {given.database}")
    os.environ |= {
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "hone.config.settings.prod",
        "HONE_SERVER_SECRET": "bench" * 10,
        "HONE_LOG_LEVEL": "ERROR",
        "HONE_REDIS_PREFIX": f"hone-seed-{secrets.token_hex(4)}",
    }
    import django  # noqa: PLC0415

    django.setup(set_prefix=False)
    from django.core.management import call_command  # noqa: PLC0415

    call_command("bootstrap")
    from hone.accounts.models import Project  # noqa: PLC0415
    from hone.traces.services import partitions_ensure  # noqa: PLC0415

    project_id = Project.objects.get().id
    copies = max(1, given.observations // (BASE_TRACES * SPANS))
    length = timedelta(days=DAYS) / copies
    start = datetime.now(UTC) - timedelta(days=DAYS, minutes=5)
    first_day = int(start.timestamp()) // 86400
    partitions_ensure(range(first_day, first_day + DAYS + 2))
    began = time.perf_counter()
    base_write(project_id, start, length)
    multiply(url, copies, length)
    written = time.perf_counter()
    index_make()
    seconds = time.perf_counter() - written
    total = copies * BASE_TRACES * SPANS
    print(f"{total} observations in {written - began:.0f} s,"
          f" indexed in {seconds:.0f} s: {total / seconds:.0f} a second")  # fmt: skip
    for name, size in sorted(sizes(url).items()):
        print(f"{name:32} {size / total:8.1f} bytes an observation")


if __name__ == "__main__":
    main()
