"""Partitions come before they are needed and go when their time is over."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from hone.common import clock
from hone.traces.core.periods import DAY_US, Period, period_for, period_from
from hone.traces.core.span import Span
from hone.traces.services import (
    partitions_drop,
    partitions_ensure,
    spans_ingest,
    traces_retain,
)
from hone.traces.services.partitions import partitions_forget

DAY_NS = 86_400 * 10**9
Make = Callable[..., Span]


def partitions() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits"
            " WHERE inhparent = 'traces_observation'::regclass"
        )
        return {name for (name,) in cursor.fetchall()}


def day(moment: datetime) -> int:
    return int(moment.timestamp() * 10**6) // DAY_US


def count(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        number: int = cursor.fetchone()[0]
        return number


@given(st.lists(st.tuples(st.integers(15_000, 25_000), st.sampled_from([1, 7, 30])), max_size=30))
def test_periods_never_overlap_and_hold_their_day(asked: list[tuple[int, int]]) -> None:
    existing: list[Period] = []
    for number, days in asked:
        if any(period.start <= number < period.end for period in existing):
            continue
        made = period_for(number, days, existing)
        assert made.start <= number < made.end <= made.start + days
        assert not any(made.start < p.end and p.start < made.end for p in existing)
        assert period_from(made.suffix) == made
        existing.append(made)


def test_weeks_begin_on_mondays() -> None:
    period = period_for(day(datetime(2026, 11, 29, tzinfo=UTC)), 7, [])
    assert period.suffix == "p20261123_20261130"


@pytest.mark.parametrize("name", ["", "p2026", "p20261332_20270101", "default"])
def test_foreign_names_are_no_periods(name: str) -> None:
    assert period_from(name) is None


@pytest.mark.django_db
def test_the_coming_two_weeks_have_partitions(capsys: pytest.CaptureFixture[str]) -> None:
    partitions_forget()
    call_command("partitions_ensure")
    ends = {period_from(name.removeprefix("traces_observation_")) for name in partitions()}
    today = day(clock.now())
    for number in range(today, today + 14):
        assert any(p is not None and p.start <= number < p.end for p in ends)
    partitions_forget()
    assert partitions_ensure() == []


@pytest.mark.django_db(transaction=True)
def test_a_partition_that_vanished_is_made_again(transactional_db: None, make_span: Make) -> None:
    start = clock.now_ns() - 200 * DAY_NS
    span = make_span(start_ns=start, end_ns=start)
    [name] = partitions_ensure([start // DAY_NS])
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {name}")
    assert spans_ingest(project_id=1, spans=[span]).accepted == 1
    assert count("traces_observation") == 1


@pytest.fixture
def old_and_new(transactional_db: None, make_span: Make) -> Iterator[None]:
    """A trace of 100 days ago and one of now, committed."""
    start = clock.now_ns() - 100 * DAY_NS
    old = make_span(trace_id="1" * 32, start_ns=start, end_ns=start)
    spans_ingest(project_id=1, spans=[old, make_span(trace_id="2" * 32)])
    yield
    partitions_forget()


@pytest.mark.django_db(transaction=True)
def test_what_is_past_its_time_goes(old_and_new: None, settings: Settings, make_span: Make) -> None:
    settings.HONE_TRACES_RETENTION_DAYS = 30
    num_partitions, num_traces = traces_retain()
    assert (num_partitions >= 1, num_traces) == (True, 1)
    assert (count("traces_trace"), count("traces_observation")) == (1, 1)
    long_ago = clock.now_ns() - 31 * DAY_NS
    late = make_span(start_ns=long_ago, end_ns=long_ago)
    assert spans_ingest(project_id=1, spans=[late]).accepted == 0


@pytest.mark.django_db(transaction=True)
def test_without_a_retention_everything_stays(old_and_new: None) -> None:
    assert traces_retain() == (0, 0)
    assert count("traces_trace") == 2


@pytest.mark.django_db(transaction=True)
def test_partitions_of_the_present_are_not_dropped(old_and_new: None) -> None:
    year_ago = clock.now() - timedelta(days=365)
    partitions_drop(year_ago)  # what other tests left there
    before = partitions()
    partitions_drop(year_ago)
    assert partitions() == before
    assert len(before) >= 2


@pytest.mark.django_db
def test_new_partitions_compress_as_the_table_does(make_span: Make) -> None:
    spans_ingest(project_id=1, spans=[make_span()])
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 'lz4' = ANY (enumvals) FROM pg_settings"
            " WHERE name = 'default_toast_compression'"
        )
        wanted = "l" if cursor.fetchone()[0] else ""
        cursor.execute(
            "SELECT DISTINCT a.attcompression::text FROM pg_attribute a JOIN pg_inherits i"
            " ON i.inhrelid = a.attrelid WHERE i.inhparent = 'traces_observation'::regclass"
            " AND a.attname IN ('input', 'output', 'metadata', 'attributes', 'events')"
        )
        assert cursor.fetchall() == [(wanted,)]
