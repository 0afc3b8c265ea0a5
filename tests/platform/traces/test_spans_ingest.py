"""Whatever the order, the cut into batches and the repeats: the same rows come out."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hone.common import clock
from hone.traces.core.span import Event, Span
from hone.traces.services import Ingested, spans_ingest

BASE_NS = (clock.now_ns() // 10**9 - 3600) * 10**9
TRACE = "11" * 16


def span(number: int, **values: Any) -> Span:
    given: dict[str, Any] = {
        "trace_id": TRACE,
        "span_id": f"{number + 1:016x}",
        "name": f"step {number}",
        "start_ns": BASE_NS + number * 10**9,
        "end_ns": BASE_NS + number * 10**9 + 5 * 10**8,
        "parent_span_id": None if number == 0 else f"{1:016x}",
    }
    return Span(**(given | values))


def rows(table: str, order: str) -> list[dict[str, Any]]:
    """The rows of a table without `seq`, which says when they came."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY {order}")
        names = [column.name for column in cursor.description]
        found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in found:
        del row["seq"]
    return found


def stored() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return (
        rows("traces_trace", "project_id, trace_id"),
        rows("traces_observation", "project_id, trace_id, span_id"),
    )


SPANS = [
    span(0, input="what is it?", output="it is", user_id="u1", environment="prod", tags=("b", "a")),
    span(1, type="generation", model="m1", usage={"input": 3, "output": 5, "total": 8}),
    span(2, type="generation", model="m2", usage={"input": 1, "output": 1, "total": 2},
         cost={"total": Decimal("0.01")}, first_token_ns=BASE_NS + 2_100_000_000, output="x"),
    span(3, type="tool", status="error", level="ERROR", session_id="s", input='{"a":1}'),
    span(4, trace_name="the one", prompt_name="p", prompt_version=3, events=[Event("e", BASE_NS)]),
    # The same span sent again with more in it, and once with another start time.
    span(1, type="generation", model="m1", usage={"input": 3, "output": 5, "total": 8}, output="y"),
    span(1, type="generation", model="m3", start_ns=BASE_NS + 10**8),
]  # fmt: skip


def ingest_in(batches: Sequence[Sequence[Span]]) -> None:
    for batch in batches:
        spans_ingest(project_id=7, spans=batch)


@st.composite
def arrivals(draw: st.DrawFn) -> list[list[Span]]:
    """All of SPANS at least once, in any order, cut anywhere, some repeated."""
    repeated = draw(st.lists(st.sampled_from(SPANS), max_size=4))
    order = draw(st.permutations([*SPANS, *repeated]))
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=4)))
    return [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]


@pytest.mark.django_db
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(arrivals())
def test_order_and_repeats_do_not_matter(batches: list[list[Span]]) -> None:
    with transaction.atomic():
        ingest_in([SPANS])
        wanted = stored()
        transaction.set_rollback(True)
    with transaction.atomic():
        ingest_in(batches)
        found = stored()
        transaction.set_rollback(True)
    assert found == wanted
    assert wanted[0][0]["observation_count"] == len(wanted[1]) == 5


@pytest.mark.django_db
def test_the_same_batch_twice_changes_nothing() -> None:
    ingest_in([SPANS])
    once = stored()
    ingest_in([SPANS, list(reversed(SPANS))])
    assert stored() == once


@pytest.mark.django_db
@pytest.mark.parametrize("hours", [1, 20])
def test_a_clock_that_goes_back_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    with transaction.atomic():
        ingest_in([SPANS])
        wanted = stored()
        transaction.set_rollback(True)
    batches = [SPANS[at : at + 2] for at in range(0, len(SPANS), 2)]
    now, now_ns = clock.now, clock.now_ns
    for number, batch in enumerate([*reversed(batches), *batches]):
        back = timedelta(hours=hours * number / 7)
        monkeypatch.setattr(clock, "now", lambda back=back: now() - back)
        monkeypatch.setattr(
            clock, "now_ns", lambda back=back: now_ns() - int(back.total_seconds()) * 10**9
        )
        assert spans_ingest(project_id=7, spans=batch) == Ingested(len(batch))
    assert stored() == wanted


@pytest.mark.django_db
def test_a_clock_over_a_day_behind_refuses_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.now
    monkeypatch.setattr(clock, "now", lambda: now() - timedelta(hours=26))
    outcome = spans_ingest(project_id=7, spans=[SPANS[0]])
    assert outcome.accepted == 0
    assert "out of range" in outcome.refused[0]
    monkeypatch.undo()
    assert spans_ingest(project_id=7, spans=[SPANS[0]]) == Ingested(1)


@pytest.mark.django_db
def test_a_trace_is_summed_up_in_its_row() -> None:
    ingest_in([SPANS[:5]])
    row = stored()[0][0]
    assert row["name"] == "the one"
    assert row["input_preview"] == "what is it?"
    assert row["output_preview"] == "it is"
    assert row["models"] == ["m1", "m2"]
    assert row["tags"] == ["a", "b"]
    assert row["prompts"] == ["p@3"]
    assert (row["input_tokens"], row["output_tokens"], row["total_tokens"]) == (4, 6, 10)
    assert row["cost"] == Decimal("0.01")
    assert row["unpriced_count"] == 1
    assert row["error_count"] == 1
    assert (row["user_id"], row["session_id"], row["environment"]) == ("u1", "s", "prod")


@pytest.mark.django_db
def test_projects_do_not_share_traces() -> None:
    spans_ingest(project_id=1, spans=[SPANS[0]])
    spans_ingest(project_id=2, spans=[replace(SPANS[0], name="other")])
    assert [row["name"] for row in stored()[0]] == ["step 0", "other"]


@pytest.mark.django_db
def test_text_that_postgresql_cannot_hold_is_kept_escaped() -> None:
    strange = replace(
        SPANS[0], name="a\x00b", input="\ud800 and \x00", metadata={"k": "\x00\ud800"}
    )
    assert spans_ingest(project_id=1, spans=[strange, SPANS[1]]) == Ingested(2)
    _, observations = stored()
    assert observations[0]["name"] == "a\\u0000b"
    assert observations[0]["input"] == "\\ud800 and \\u0000"
    assert observations[0]["metadata"] == '{"k":"\\u0000\\ud800"}'


@pytest.mark.django_db
def test_a_start_outside_of_history_is_refused_with_a_reason() -> None:
    early = replace(SPANS[1], start_ns=1)
    result = spans_ingest(project_id=1, spans=[early, SPANS[0]])
    assert result.accepted == 1
    assert "start time 1 ns" in result.refused[0]


@pytest.mark.django_db
def test_spans_die_with_the_callers_transaction() -> None:
    with transaction.atomic():
        ingest_in([SPANS])
        transaction.set_rollback(True)
    assert stored() == ([], [])


@pytest.mark.django_db
def test_old_spans_get_a_partition_of_their_own() -> None:
    long_ago = BASE_NS - 400 * 86_400 * 10**9
    old = replace(SPANS[0], start_ns=long_ago, end_ns=long_ago + 1000)
    assert spans_ingest(project_id=1, spans=[old]).accepted == 1
    assert len(stored()[1]) == 1


@pytest.mark.django_db
def test_what_replaces_stands_whatever_was_there() -> None:
    late = replace(SPANS[1], end_ns=SPANS[1].end_ns + 10**9, output="longer", start_ns=BASE_NS)
    spans_ingest(project_id=7, spans=[SPANS[0], late, SPANS[2]])
    spans_ingest(project_id=7, spans=[SPANS[2], SPANS[1]], replace=True)
    found = stored()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE traces_trace, traces_observation CASCADE")
        ingest_in([SPANS[:3]])
        assert stored() == found
        transaction.set_rollback(True)


@pytest.mark.django_db
def test_the_last_of_several_replacements_stands() -> None:
    first, last = replace(SPANS[1], output="zzz"), replace(SPANS[1], output="a")
    spans_ingest(project_id=7, spans=[first, SPANS[0], last], replace=True)
    assert [row["output"] for row in stored()[1]] == ["it is", "a"]
    assert stored()[0][0]["observation_count"] == 2


@pytest.mark.django_db
def test_a_replacement_that_is_equal_writes_nothing() -> None:
    spans_ingest(project_id=7, spans=SPANS[:3], replace=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT seq FROM traces_trace")
        before = cursor.fetchall()
        spans_ingest(project_id=7, spans=SPANS[:3], replace=True)
        cursor.execute("SELECT seq FROM traces_trace")
        assert cursor.fetchall() == before
