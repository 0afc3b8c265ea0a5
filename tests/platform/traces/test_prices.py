"""What spans cost: given, by the project's prices, by the built-in table, or unknown."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from hone.accounts.core.roles import Role
from hone.traces.core.dialects.usage import usage_flat
from hone.traces.core.prices import builtin_rates, cost_of, units_of
from hone.traces.core.prices.rates import amount
from hone.traces.core.summary import token_counts
from hone.traces.ingest import application
from hone.traces.services import spans_ingest

PRICES = "/api/projects/demo/prices"
OWN = {
    "name": "ours",
    "pattern": "^my-model",
    "prices": {"input": "0.000001", "output": "0.000002"},
}
# The LLM calls of the load that peers were measured with (seeds 900 and 1, 100 and 5,000 traces):
# input and output tokens, and the cost in USD on which two of the peers agree.
LOAD = {
    "gpt-4o": (1_258_248, 523_752, Decimal("8.3831")),
    "gpt-4o-mini": (967_269, 404_272, Decimal("0.3877")),
}


def cost(model: str, at_ns: int = 1_796_000_000 * 10**9, **usage: int) -> dict[str, Any] | None:
    rates = builtin_rates(model)
    return rates and cost_of(rates, usage, at_ns)


def stored() -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT model, sum(cost), bool_and(cost IS NOT NULL) FROM traces_observation"
            " WHERE model IS NOT NULL GROUP BY model ORDER BY model"
        )
        return list(cursor.fetchall())


def split(total: int, pieces: int) -> list[int]:
    """`total` in uneven pieces."""
    parts = [total // (number + 2) // pieces for number in range(pieces - 1)]
    return [*parts, total - sum(parts)]


@pytest.mark.django_db
@pytest.mark.parametrize("is_native", [True, False])
def test_the_load_costs_what_two_peers_say(
    asgi, api_key, export, monkeypatch: pytest.MonkeyPatch, is_native: bool
) -> None:
    if not is_native:
        monkeypatch.setattr("hone.traces.services.exports.is_built", lambda: False)
    spans = [
        {
            "span_id": f"{number + 1:08x}{len(model):08x}",
            "attributes": {
                "openinference.span.kind": "LLM",
                "llm.model_name": model,
                "llm.token_count.prompt": tokens_in,
                "llm.token_count.completion": tokens_out,
            },
        }
        for model, (given, answer, _) in LOAD.items()
        for number, (tokens_in, tokens_out) in enumerate(
            zip(split(given, 20), split(answer, 20), strict=True)
        )
    ]
    headers = api_key.bearer | {"content-type": "application/x-protobuf"}
    assert (
        asgi(application, "POST", "/v1/traces", body=export(*spans), headers=headers).status == 200
    )
    found = {model: usd for model, usd, is_priced in stored() if is_priced}
    assert {m: round(usd, 4) for m, usd in found.items()} == {m: v[2] for m, v in LOAD.items()}
    with connection.cursor() as cursor:
        cursor.execute("SELECT cost, unpriced_count FROM traces_trace")
        assert cursor.fetchone() == (sum(found.values()), 0)


def test_cached_and_reasoning_tokens_have_their_own_price() -> None:
    usage = {"input": 500, "input_cached_tokens": 500, "output": 60, "output_reasoning_tokens": 40}
    assert cost("gpt-4o", **usage) == {
        "input": Decimal("0.00125"),
        "input_cached_tokens": Decimal("0.000625"),
        "output": Decimal("0.0006"),
        "output_reasoning_tokens": Decimal("0.0004"),
        "total": Decimal("0.002875"),
    }


def test_a_long_prompt_costs_more_where_the_vendor_says_so() -> None:
    short, long = cost("gemini-2.5-pro", input=200_000), cost("gemini-2.5-pro", input=200_001)
    assert short is not None
    assert long is not None
    assert short["total"] == Decimal("0.25")
    assert long["total"] == Decimal("0.5000025")


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o-2024-08-06",
        "openai/gpt-4o",
        "text-embedding-3-small",
        "claude-3-5-sonnet-20241022",
        "gemini-1.5-pro",
    ],
)
def test_well_known_models_have_a_price(model: str) -> None:
    assert cost(model, input=1000) is not None


@pytest.mark.parametrize("model", ["", "smollm2", "no-such-model", "openai/", "x" * 1000, "\ud800"])
def test_an_unknown_model_has_none(model: str) -> None:
    assert cost(model, input=1000) is None


def test_a_total_alone_is_not_priced_by_guessing() -> None:
    assert cost("gpt-4o", total=1000) is None


@given(st.integers(0, 2**61), st.integers(0, 2**40))
def test_amounts_are_exact(units: int, count: int) -> None:
    price = amount(units)
    assert units_of(price) == units
    assert amount(units * count) * 10**15 == units * count or units * count > 10**28


@pytest.mark.parametrize("price", ["-1", "NaN", "Infinity", "5000"])
def test_what_is_no_price_is_refused(price: str) -> None:
    with pytest.raises(ValueError, match="want 0 to"):
        units_of(Decimal(price))


@pytest.mark.django_db
def test_the_projects_price_goes_before_the_built_in_one(as_alice, project, make_span) -> None:
    own = OWN | {"pattern": "(?i)^GPT-4O$", "prices": {"input": "0.5"}}
    assert as_alice.post(PRICES, own).status_code == 201
    usage = {"input": 2, "output": 1, "total": 3}
    spans = [
        make_span(0, model="gpt-4o", usage=usage),
        make_span(1, model="gpt-4o-mini", usage=usage),
        make_span(2, model="nobody-knows", usage=usage),
    ]
    spans_ingest(project_id=project.id, spans=spans)
    assert stored() == [
        ("gpt-4o", Decimal("1.0"), True),
        ("gpt-4o-mini", Decimal("0.0000009"), True),
        ("nobody-knows", None, False),
    ]


@pytest.mark.django_db
def test_a_given_cost_is_never_touched(project, make_span) -> None:
    usage, free = {"input": 2, "total": 2}, {"total": Decimal(0)}
    spans_ingest(project_id=project.id, spans=[make_span(model="gpt-4o", usage=usage, cost=free)])
    assert stored() == [("gpt-4o", Decimal(0), True)]


@pytest.mark.django_db
def test_tiers_of_a_project_hold_under_all_their_conditions(as_alice, project, make_span) -> None:
    tiers = [
        {
            "name": "long",
            "conditions": [
                {"usage_pattern": "^input", "operator": "gt", "value": 10},
                {"usage_pattern": "^output", "operator": "lte", "value": 5},
            ],
            "prices": {"input": "1", "output": "1"},
        }
    ]
    assert as_alice.post(PRICES, OWN | {"tiers": tiers}).status_code == 201
    for number, usage in enumerate(
        [
            {"input": 8, "input_cached_tokens": 3, "output": 5},
            {"input": 8, "input_cached_tokens": 2, "output": 5},
            {"input": 11, "output": 6},
        ]
    ):
        model = f"my-model-{number}"
        spans_ingest(project_id=project.id, spans=[make_span(number, model=model, usage=usage)])
    assert [row[1] for row in stored()] == [
        Decimal(16),
        Decimal("0.00002"),
        Decimal("0.000023"),
    ]


@pytest.mark.django_db
def test_a_later_price_holds_from_its_day_on(as_alice, project, make_span, base_ns) -> None:
    later = {"starts_at": "2026-06-01T00:00:00Z", "prices": {"input": "3"}}
    assert as_alice.post(PRICES, OWN | later).status_code == 201
    assert as_alice.post(PRICES, OWN | {"prices": {"input": "2"}}).status_code == 201
    usage, day = {"input": 1}, 86_400 * 10**9
    june = 1_780_272_000 * 10**9
    for number, start in enumerate((june - day, june)):
        model = f"my-model-{number}"
        given = make_span(number, model=model, usage=usage, start_ns=start, end_ns=start)
        spans_ingest(project_id=project.id, spans=[given])
    assert [row[1] for row in stored()] == [2, 3]


@pytest.mark.django_db
def test_prices_are_listed_and_taken_back(as_alice, as_bob) -> None:
    made = as_alice.post(PRICES, OWN).json()
    assert made["author"] == "Alice"
    assert [row["id"] for row in as_bob.get(PRICES).json()["data"]] == [made["id"]]
    assert as_bob.delete(f"{PRICES}/{made['id']}").status_code == 403
    assert as_alice.delete(f"{PRICES}/{made['id']}").status_code == 204
    assert as_alice.delete(f"{PRICES}/{made['id']}").status_code == 404
    assert as_alice.get(PRICES).json()["data"] == []


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER])
def test_only_admins_set_prices(as_role, as_alice, role: Role) -> None:
    made = as_alice.post(PRICES, OWN).json()
    other = as_role(role)
    assert other.post(PRICES, OWN).status_code == 403
    assert other.put(f"{PRICES}/{made['id']}", OWN).status_code == 403


@pytest.mark.django_db
def test_a_changed_price_holds_for_what_comes_after(as_alice, project, make_span) -> None:
    made = as_alice.post(PRICES, OWN).json()
    usage = {"input": 1_000_000}
    spans_ingest(project_id=project.id, spans=[make_span(model="my-model", usage=usage)])
    changed = as_alice.put(f"{PRICES}/{made['id']}", OWN | {"prices": {"input": "0.000003"}})
    assert changed.json() == made | {"prices": {"input": "0.000003"}}
    spans_ingest(project_id=project.id, spans=[make_span(1, model="my-model-2", usage=usage)])
    assert [(row[0], row[1]) for row in stored()] == [("my-model", 1), ("my-model-2", 3)]
    refused = as_alice.put(f"{PRICES}/{made['id']}", OWN | {"prices": {"input": "cheap"}})
    assert refused.json()["error"]["field"] == "prices"
    assert as_alice.put(f"{PRICES}/unknown", OWN).status_code == 404


@pytest.mark.django_db
def test_what_a_model_costs_is_looked_up(as_alice, as_role, as_charlie) -> None:
    made = as_alice.post(PRICES, OWN | {"pattern": "^gpt-4o"}).json()
    viewer = as_role(Role.VIEWER)
    found = viewer.get(f"{PRICES}/lookup", {"model": "gpt-4o"}).json()
    assert found["own"] == [made["id"]]
    assert found["builtin"][0]["prices"]["input"] == "0.0000025"
    tiers = viewer.get(f"{PRICES}/lookup", {"model": "gemini-2.5-pro"}).json()["builtin"][0][
        "tiers"
    ]
    condition = {"usage_pattern": "^input", "operator": "gt", "value": 200_000}
    assert tiers[0]["conditions"] == [condition]
    nobodys = viewer.get(f"{PRICES}/lookup", {"model": "nobody-has-this"}).json()
    assert nobodys == {"model": "nobody-has-this", "own": [], "builtin": None}
    assert viewer.get(f"{PRICES}/lookup").json()["error"]["field"] == "model"
    assert as_charlie.get(f"{PRICES}/lookup", {"model": "gpt-4o"}).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"pattern": "("}, "pattern"),
        ({"pattern": "(?=a)"}, "pattern"),
        ({"prices": {}}, "prices"),
        ({"prices": {"input": "cheap"}}, "prices"),
        ({"prices": {"input": "-1"}}, "prices"),
        ({"tiers": [{"conditions": [], "prices": {"input": "1"}}]}, "tiers"),
    ],
)
def test_what_is_no_price_list_is_refused(as_alice, change: dict[str, Any], field: str) -> None:
    answer = as_alice.post(PRICES, OWN | change)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"].startswith(field)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (  # a chat completion of OpenAI's
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 80, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            {
                "input": 20,
                "output": 20,
                "total": 150,
                "input_cached_tokens": 80,
                "input_audio_tokens": 0,
                "output_reasoning_tokens": 30,
            },
        ),
        (  # a response of OpenAI's
            {
                "input_tokens": 10,
                "output_tokens": 5,
                "total_tokens": 15,
                "input_tokens_details": {"cached_tokens": 4},
            },
            {"input": 6, "output": 5, "total": 15, "input_cached_tokens": 4},
        ),
        (  # Anthropic's, whose input is without what was cached
            {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90},
            {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90, "total": 105},
        ),
        (  # counted twice, as the total tells
            {"input": 100, "output": 5, "total": 105, "input_cached_tokens": 90},
            {"input": 10, "output": 5, "total": 105, "input_cached_tokens": 90},
        ),
        ({"input": "7", "output": -1, "x": None, "y": 1.5}, {"input": 7, "total": 7}),
        ({"input": True}, None),
    ],
)
def test_usage_is_counted_in_parts_that_do_not_overlap(
    given: dict[str, Any], wanted: dict[str, int] | None
) -> None:
    assert usage_flat(given) == wanted


def test_parts_under_other_names_have_their_side_and_price(make_span) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90, "total": 105}
    assert token_counts(make_span(usage=usage)) == (100, 5, 105)
    found = cost("gpt-4o", **usage)
    assert found is not None
    assert found["cache_read_input_tokens"] == Decimal("0.0001125")
