"""A partition from which a project goes as a whole: what is not to go stays, whatever happens."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError, connection, transaction

from hone.common import clock
from hone.traces.core.span import Span
from hone.traces.models import Comment, Erasure, Media, MediaUse, Score
from hone.traces.selectors.changes import seq_now
from hone.traces.selectors.query import fetch
from hone.traces.services import clearing, erasing, erasures_run, spans_ingest, trace_delete
from hone.traces.services.clearing import Doomed, partitions_clear
from hone.traces.services.partitions import partitions_all, partitions_ensure
from hone.traces.services.rollups import rollups_grow
from hone.traces.services.search import search_refresh

Make = Callable[..., Span]
DAY_NS = 86_400 * 10**9
PATIENCE_S = 30.0

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def however_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions are emptied for a handful of observations too."""
    monkeypatch.setattr(clearing, "LEAST", 1)
    monkeypatch.setattr(clearing, "PAUSE_S", 0.05)


@pytest.fixture
def week_ns() -> int:
    """A moment within the partition that ends before the present one begins."""
    day = clock.now_ns() // DAY_NS
    partitions_ensure([day])
    [present] = [period for period in partitions_all() if period.start <= day < period.end]
    return (present.start - 1) * DAY_NS


def traces(make_span: Make, first: int, number: int, start_ns: int, **values: Any) -> list[Span]:
    """Traces of two spans, named by their number."""
    used = {"input": 1, "output": 1, "total": 2}
    return [
        make_span(
            span, trace_id=f"{first + at:032x}", start_ns=start_ns + (at * 2 + span) * 10**6,
            end_ns=start_ns + (at * 2 + span + 1) * 10**6, type="generation", usage=used, **values,
        )
        for at in range(number)
        for span in range(2)
    ]  # fmt: skip


def long(make_span: Make, start_ns: int) -> list[Span]:
    """Trace 99, which reaches into the next partition."""
    return [
        make_span(number, trace_id=f"{99:032x}", start_ns=at, end_ns=at)
        for number, at in enumerate((start_ns, start_ns + 2 * DAY_NS))
    ]


def stored(project_id: int) -> list[tuple[Any, ...]]:
    """All observations of a project, whole."""
    return fetch(
        "SELECT o::text FROM traces_observation o WHERE project_id = %s ORDER BY 1", [project_id]
    )


def ids(project_id: int) -> set[int]:
    """Numbers of traces, of whose rows and observations neither is without the other."""
    found = [
        {int(text, 16) for (text,) in fetch(query, [project_id])}
        for query in (
            "SELECT encode(trace_id, 'hex') FROM traces_observation WHERE project_id = %s",
            "SELECT encode(trace_id, 'hex') FROM traces_trace WHERE project_id = %s",
        )
    ]
    assert found[0] == found[1]
    return found[0]


def clear(project_id: int, until_seq: int | None = None) -> int:
    return sum(partitions_clear(Doomed(project_id, until_seq or seq_now())))


def counted(project_id: int) -> tuple[int, int]:
    """Observations and tokens by the figures of hours."""
    while rollups_grow():
        pass
    [(number, tokens)] = fetch(
        "SELECT coalesce(sum(n), 0), coalesce(sum(total_tokens), 0) FROM traces_rollup"
        " WHERE project_id = %s",
        [project_id],
    )
    return int(number), int(tokens)


def in_thread(work: Callable[[], object]) -> None:
    """Do it on a connection of its own, to the end."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "it waits for somebody"
    assert not failed, failed


def test_one_project_goes_and_the_other_stays(make_span: Make, week_ns: int) -> None:
    spans_ingest(project_id=1, spans=traces(make_span, 1, 20, week_ns))
    theirs = traces(make_span, 101, 5, week_ns)
    spans_ingest(project_id=2, spans=theirs)
    before = stored(2)
    assert counted(1) == (40, 80)
    assert clear(1) == 20
    assert ids(1) == set()
    assert stored(2) == before
    assert (counted(1), counted(2)) == ((0, 0), (10, 20))
    spans_ingest(project_id=2, spans=theirs)  # repeats are known as such
    assert stored(2) == before


def test_a_project_alone_in_its_partitions_goes(make_span: Make, week_ns: int) -> None:
    for week in range(3):
        some = traces(make_span, 1 + 10 * week, 10, week_ns - week * 8 * DAY_NS)
        spans_ingest(project_id=1, spans=some)
    assert list(partitions_clear(Doomed(1, seq_now()))) == [10, 10, 10]
    assert ids(1) == set()
    assert counted(1) == (0, 0)


def test_where_more_stays_than_goes_nothing_is_copied(
    make_span: Make, week_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clearing, "LEAST", 7)
    spans_ingest(project_id=1, spans=traces(make_span, 1, 3, week_ns))
    assert clear(1) == 0
    monkeypatch.setattr(clearing, "LEAST", 1)
    spans_ingest(project_id=2, spans=traces(make_span, 101, 12, week_ns))
    assert clear(1) == 0
    assert ids(1) == {1, 2, 3}


def test_what_comes_later_stays_whole(make_span: Make, week_ns: int) -> None:
    spans_ingest(project_id=1, spans=traces(make_span, 1, 10, week_ns))
    until = seq_now()
    spans_ingest(project_id=1, spans=traces(make_span, 51, 4, week_ns))
    later = [row for row in stored(1) if "33" in row[0]]
    assert clear(1, until) == 10
    assert ids(1) == {51, 52, 53, 54}
    assert later
    assert counted(1) == (8, 16)


def test_traces_over_two_partitions_are_left_whole(make_span: Make, week_ns: int) -> None:
    spans_ingest(project_id=1, spans=traces(make_span, 1, 10, week_ns))
    spans_ingest(project_id=1, spans=long(make_span, week_ns))
    assert clear(1) == 10
    assert ids(1) == {99}
    assert len(stored(1)) == 2


def test_what_belongs_to_them_goes_too(project: Any, make_span: Make, week_ns: int) -> None:
    spans_ingest(project_id=project.pk, spans=traces(make_span, 1, 3, week_ns))
    until = seq_now()
    spans_ingest(project_id=project.pk, spans=traces(make_span, 51, 1, week_ns))
    for number in (1, 51):
        trace_id = f"{number:032x}"
        now = clock.now()
        Score.objects.create(
            project=project, key=f"s{number}", trace_id=trace_id, name="q", type="NUMERIC",
            source="API", number=1, timestamp=now, created_at=now, updated_at=now,
        )  # fmt: skip
        Comment.objects.create(
            project=project, key=f"c{number}", object_type="OBSERVATION", object_id="1" * 16,
            trace_id=trace_id, content="x", author_name="A", created_at=now, updated_at=now,
        )  # fmt: skip
        media = Media.objects.create(
            project=project, key=f"m{number}", sha256=b"1", content_type="image/png", num_bytes=1,
            created_at=now,
        )  # fmt: skip
        MediaUse.objects.create(media=media, field="input", trace_id=trace_id)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO traces_legacy VALUES (%s, %s, %s, 'x', '{}', %s)",
                [project.pk, bytes.fromhex(trace_id), bytes.fromhex(trace_id), now],
            )
            cursor.execute(
                "INSERT INTO traces_echo VALUES (%s, %s, %s, %s)",
                [project.pk, bytes.fromhex(trace_id), b"1" * 8, b"2" * 8],
            )
    assert clear(project.pk, until) == 3
    left = [
        list(Score.objects.values_list("key", flat=True)),
        list(Comment.objects.values_list("key", flat=True)),
        list(Media.objects.values_list("key", flat=True)),
        [bytes(key).hex() for (key,) in fetch("SELECT key FROM traces_legacy", [])],
        [bytes(key).hex() for (key,) in fetch("SELECT trace_id FROM traces_echo", [])],
    ]
    assert left == [["s51"], ["c51"], ["m51"], [f"{51:032x}"], [f"{51:032x}"]]


def test_others_write_while_it_runs(
    make_span: Make, week_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the copy of what stays and the lock: new traces, spans of known ones, deletions."""
    spans_ingest(project_id=1, spans=traces(make_span, 1, 30, week_ns))
    spans_ingest(project_id=2, spans=traces(make_span, 101, 6, week_ns))
    once = [True]
    before = clearing.erased_parts_delete

    def write() -> None:
        spans_ingest(project_id=1, spans=traces(make_span, 51, 2, week_ns))
        spans_ingest(project_id=2, spans=traces(make_span, 201, 2, week_ns))
        more = make_span(7, trace_id=f"{101:032x}", start_ns=week_ns, end_ns=week_ns)
        spans_ingest(project_id=2, spans=[more])
        trace_delete(project_id=2, trace_id=f"{102:032x}")

    def meanwhile(cursor: Any, project_id: int) -> None:
        if once:
            once.pop()
            in_thread(write)
        before(cursor, project_id)

    monkeypatch.setattr(clearing, "erased_parts_delete", meanwhile)
    assert clear(1) == 30
    assert ids(1) == {51, 52}
    assert ids(2) == {101, 103, 104, 105, 106, 201, 202}
    assert len(stored(2)) == 15
    assert (counted(1), counted(2)) == ((4, 8), (15, 28))


def test_it_gives_way_to_who_reads(
    make_span: Make, week_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=1, spans=traces(make_span, 1, 10, week_ns))
    monkeypatch.setattr(clearing, "TRIES", 2)
    before = stored(1)
    parameters = connection.get_connection_params()
    for name in ("cursor_factory", "context", "pool"):
        parameters.pop(name, None)
    with psycopg.connect(**parameters) as reader:
        reader.execute("SELECT count(*) FROM traces_observation")  # and its transaction goes on
        assert clear(1) == 0
        assert stored(1) == before
        assert len(ids(1)) == 10
    assert clear(1) == 10


def test_a_connection_that_breaks_changes_nothing(
    make_span: Make, week_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans_ingest(project_id=1, spans=traces(make_span, 1, 10, week_ns))
    spans_ingest(project_id=2, spans=traces(make_span, 101, 3, week_ns))
    before = stored(1), stored(2), counted(1)
    original = clearing.rollups.rollups_anew

    def killed(cursor: Any, *place: Any) -> None:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(clearing.rollups, "rollups_anew", killed)
    with pytest.raises((OperationalError, psycopg.OperationalError)):
        clear(1)
    connection.close()
    assert (stored(1), stored(2), counted(1)) == before
    monkeypatch.setattr(clearing.rollups, "rollups_anew", original)
    assert clear(1) == 10
    assert stored(2) == before[1]


def asked(project: Any, what: str, **values: Any) -> Erasure:
    return Erasure.objects.create(
        key="k", organization=project.organization, project=project, project_slug=project.slug,
        what=what, author_name="A", created_at=clock.now(), **values,
    )  # fmt: skip


def test_an_erasure_does_by_partition_and_by_trace_what_there_is(
    project: Any, make_span: Make, week_ns: int
) -> None:
    spans_ingest(project_id=project.pk, spans=traces(make_span, 1, 10, week_ns, input="secret"))
    spans_ingest(project_id=project.pk, spans=long(make_span, week_ns))
    spans_ingest(project_id=2**40, spans=traces(make_span, 101, 3, week_ns, input="secret"))
    search_refresh()
    erasure = asked(project, Erasure.What.TRACES, until_seq=seq_now())
    spans_ingest(project_id=project.pk, spans=traces(make_span, 51, 2, week_ns))
    assert erasures_run() == 1
    erasure.refresh_from_db()
    assert (erasure.state, erasure.trace_count, erasure.trace_total) == ("done", 11, 11)
    assert ids(project.pk) == {51, 52}
    assert ids(2**40) == {101, 102, 103}
    query = "SELECT count(*) FROM traces_search_segment WHERE project_id = %s AND NOT stale"
    assert fetch(query, [project.pk]) == [(0,)]
    assert fetch(query, [2**40]) == [(1,)]
    search_refresh()
    assert counted(project.pk) == (4, 8)


WORKER = """
import time, django
django.setup(set_prefix=False)
from hone.traces.services import erasing
delete = erasing.traces_delete
def slowly(**values):
    time.sleep(0.05)
    return delete(**values)
erasing.PORTION, erasing.traces_delete = 1, slowly
erasing.erasures_run()
"""


def test_a_worker_that_is_killed_is_taken_over(
    project: Any, make_span: Make, make_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ns = clock.now_ns() - 3600 * 10**9
    spans_ingest(project_id=project.pk, spans=traces(make_span, 1, 100, now_ns))
    spans_ingest(project_id=2**40, spans=traces(make_span, 501, 3, now_ns))
    erasure = asked(project, Erasure.What.TRACES, until_seq=seq_now())
    # More stays than goes, so it goes trace by trace.
    monkeypatch.setattr(clearing, "LEAST", 10**6)
    parts = urlsplit(settings.DATABASE_URL)
    name = connection.settings_dict["NAME"]
    environment = make_server(urlunsplit(parts._replace(path=f"/{name}"))).environment
    worker = subprocess.Popen([sys.executable, "-c", WORKER], env=environment)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while erasure.trace_count < 3:
            assert time.monotonic() < deadline
            assert worker.poll() is None
            time.sleep(0.02)
            erasure.refresh_from_db()
    finally:
        worker.kill()
        worker.wait(PATIENCE_S)
    assert 0 < len(ids(project.pk)) < 100
    assert erasures_run() == 0  # its lease is not over
    later = clock.now() + erasing.LEASE + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert erasures_run() == 1
    erasure.refresh_from_db()
    assert (erasure.state, erasure.trace_total) == ("done", 100)
    assert ids(project.pk) == set()
    assert ids(2**40) == {501, 502, 503}


def test_a_trace_that_goes_on_goes_whole(project: Any, make_span: Make, week_ns: int) -> None:
    spans_ingest(project_id=project.pk, spans=traces(make_span, 1, 2, week_ns))
    asked(project, Erasure.What.TRACES, until_seq=seq_now())
    late = make_span(7, trace_id=f"{1:032x}", start_ns=week_ns, end_ns=week_ns)
    spans_ingest(project_id=project.pk, spans=[late])
    assert erasures_run() == 1
    assert ids(project.pk) == set()


def test_it_waits_for_who_was_writing_when_it_was_asked_for(
    project: Any, make_span: Make, week_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, end = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with transaction.atomic():
                spans_ingest(project_id=project.pk, spans=traces(make_span, 1, 2, week_ns))
                begun.set()
                end.wait(PATIENCE_S)
        finally:
            connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(PATIENCE_S)
    asked(project, Erasure.What.TRACES, until_seq=seq_now())
    monkeypatch.setattr(erasing, "time", Mock(sleep=lambda _: end.set(), monotonic=time.monotonic))
    assert erasures_run() == 1
    writer.join(PATIENCE_S)
    assert ids(project.pk) == set()
