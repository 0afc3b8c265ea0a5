"""A call that the gateway and its client both tell of counts once, whoever comes first."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from itertools import permutations
from typing import Any

import orjson
import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from hone.gateway.core.spans import CallRecord, spans_of
from hone.traces.core.echo import CALLER, COST, TYPE, USAGE, Account, Teller, account_beside
from hone.traces.core.span import Span
from hone.traces.services import spans_ingest
from hone.traces.services.deletion import trace_delete
from hone.traces.services.rollups import rollups_refresh

PROJECT = 7
TOKENS = {"prompt_tokens": 10, "completion_tokens": 4}
MakeSpan = Callable[..., Span]

pytestmark = pytest.mark.django_db


@pytest.fixture
def told(make_span: MakeSpan) -> dict[str, list[Span]]:
    """A call in four exports: the application's, the call, its HTTP request, the gateway's."""
    application = make_span(0, name="application")
    call = make_span(
        1, type="generation", name="openai.chat", model="m", usage={"input": 10, "output": 4}
    )
    request = make_span(2, name="POST", parent_span_id=call.span_id)
    served = spans_of(
        CallRecord(
            trace_id=call.trace_id,
            root_id="cd" * 8,
            parent_span_id=request.span_id,
            start_ns=request.start_ns,
            end_ns=request.end_ns,
            model="m",
            usage=TOKENS,
            is_local=True,
            prompt=("greet", 3),
        )
    )
    return {"root": [application], "call": [call], "http": [request], "gateway": served}


def ingest(spans: list[Span]) -> None:
    assert spans_ingest(project_id=PROJECT, spans=spans).accepted == len(spans)


def totals() -> tuple[Any, ...]:
    """Of the one trace: input, output and total tokens, cost, unpriced, observations."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT input_tokens, output_tokens, total_tokens, cost, unpriced_count,"
            " observation_count FROM traces_trace"
        )
        [row] = cursor.fetchall()
        return tuple(row)


def rows() -> list[Any]:
    """What is stored of each observation, and of the trace."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT span_id, type, usage, input_tokens, total_tokens, cost, cost_details,"
            " attributes FROM traces_observation ORDER BY span_id"
        )
        return [tuple(row) for row in cursor.fetchall()]


def generations() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM traces_observation WHERE type = 'generation'")
        return [name for (name,) in cursor.fetchall()]


def test_alone_the_gateways_account_counts(told: dict[str, list[Span]]) -> None:
    ingest(told["gateway"])
    assert totals() == (10, 4, 14, 0, 0, 2)
    assert generations() == ["generation"]


def test_of_both_the_clients_account_counts(told: dict[str, list[Span]]) -> None:
    ingest([span for spans in told.values() for span in spans])
    assert totals()[:3] == (10, 4, 14)
    assert totals()[5] == 5
    assert generations() == ["openai.chat"]
    [(kept,)] = [row[7:] for row in rows() if row[1] == "span" and row[7] and CALLER in row[7]]
    assert orjson.loads(kept)[USAGE] == {"input": 10, "output": 4, "total": 14}


@pytest.mark.parametrize("order", [*permutations(["root", "call", "http", "gateway"])])
def test_whatever_comes_first_the_same_is_stored(
    told: dict[str, list[Span]], order: tuple[str, ...]
) -> None:
    for name in order:
        ingest(told[name])
    one_by_one = rows(), totals()
    assert trace_delete(project_id=PROJECT, trace_id=told["root"][0].trace_id)
    ingest([span for name in reversed(order) for span in told[name]])
    ingest(told["gateway"])
    assert (rows(), totals()) == one_by_one
    assert totals()[:3] == (10, 4, 14)


def test_a_cost_that_only_the_gateway_knows_is_kept(told: dict[str, list[Span]]) -> None:
    ingest([*told["gateway"], *told["http"], *told["call"]])
    assert totals()[3] == 0, "the local engine's tokens are free, and the client cannot know"
    priced = replace(
        told["call"][0], cost={"total": Decimal("0.5")}, end_ns=told["call"][0].end_ns + 9000
    )
    ingest([priced])
    assert totals()[3] == Decimal("0.5")


def test_a_client_that_counts_no_tokens_leaves_them_to_the_gateway(
    told: dict[str, list[Span]],
) -> None:
    ingest([*told["gateway"], *told["http"], replace(told["call"][0], usage=None)])
    assert totals()[:3] == (10, 4, 14)
    assert generations() == ["openai.chat"]


def test_a_correction_of_the_clients_gives_the_tokens_back(told: dict[str, list[Span]]) -> None:
    ingest([*told["gateway"], *told["http"], *told["call"]])
    later = replace(told["call"][0], type="span", usage=None, end_ns=told["call"][0].end_ns + 9000)
    ingest([later])
    assert totals()[:3] == (10, 4, 14)
    assert generations() == ["generation"]


def test_a_call_within_a_tool_is_not_its_callers(
    told: dict[str, list[Span]],
) -> None:
    """A model asked for a tool, and the tool asks a model: these are two calls."""
    ingest([*told["call"], *told["gateway"], replace(told["http"][0], type="tool")])
    assert totals()[:3] == (20, 8, 28)
    assert sorted(generations()) == ["generation", "openai.chat"]


def test_spans_in_a_ring_and_hostile_marks_are_survived(make_span: MakeSpan) -> None:
    marks = {CALLER: "zz", USAGE: "abc", COST: {"total": "x"}, TYPE: "no", "own": 1}
    ring = [
        make_span(1, parent_span_id=f"{3:016x}"),
        make_span(2, parent_span_id=f"{2:016x}", attributes={**marks, CALLER: f"{2:016x}"}),
        make_span(3, attributes=marks, usage={"input": 1, "total": 1}),
    ]
    ingest(ring)
    assert totals()[:3] == (1, 0, 1)
    assert orjson.loads(rows()[1][7])["own"] == 1


def test_a_deleted_trace_leaves_nothing(told: dict[str, list[Span]]) -> None:
    ingest(told["gateway"])
    assert trace_delete(project_id=PROJECT, trace_id=told["root"][0].trace_id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM traces_echo")
        assert cursor.fetchone() == (0,)


@pytest.mark.parametrize("order", [["gateway", "http", "call"], ["call", "http", "gateway"]])
@pytest.mark.django_db(transaction=True)
def test_figures_by_hour_count_it_once_too(
    told: dict[str, list[Span]], order: list[str], transactional_db: None
) -> None:
    """Also where the first account had been taken in before the second came."""
    for name in order:
        ingest(told[name])
        rollups_refresh()
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(total_tokens), sum(n) FROM traces_rollup")
        assert cursor.fetchone() == (14, 4)
        cursor.execute("SELECT sum(n) FROM traces_rollup WHERE type = 'generation'")
        assert cursor.fetchone() == (1,)


TELLERS = st.none() | st.builds(
    Teller, st.sampled_from(["generation", "span", "agent"]), st.booleans(), st.booleans()
)
ACCOUNTS = st.builds(
    Account,
    st.just("generation"),
    st.sampled_from([None, '{"input":1,"total":1}']),
    st.sampled_from([None, '{"input":"0.1","total":"0.1"}']),
    st.sampled_from([None, '{"connection":"x"}', '{"k":"\\ud800"}']),
)


@given(ACCOUNTS, st.lists(TELLERS))
def test_only_the_latest_teller_decides(account: Account, tellers: list[Teller | None]) -> None:
    told = account
    for teller in tellers:
        told = account_beside(told, teller)
    assert told == account_beside(account, tellers[-1] if tellers else None)
    assert account_beside(told, None) == account
