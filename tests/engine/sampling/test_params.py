import dataclasses
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hone_engine.sampling import PARAMETERS, params_parse, seed_of
from hone_engine.types import RequestError, SamplingParams


def test_nothing_asked_is_the_default() -> None:
    assert params_parse({}) == SamplingParams()
    assert params_parse(dict.fromkeys(PARAMETERS)) == SamplingParams()


def test_every_field_of_the_params_can_be_asked_for() -> None:
    assert {f.name for f in dataclasses.fields(SamplingParams)} == set(PARAMETERS) - {
        "max_completion_tokens"
    }


def test_values_are_taken_over() -> None:
    asked = {"temperature": 0, "top_k": -1, "stop": "END", "seed": -5, "max_completion_tokens": 7}
    params = params_parse(asked)
    assert params.temperature == 0.0
    assert params.top_k == 0
    assert params.stop == ("END",)
    assert params.seed == -5
    assert params.max_tokens == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("temperature", -0.1),
        ("temperature", 2.1),
        ("temperature", "0.5"),
        ("temperature", True),
        ("temperature", [1]),
        ("top_p", 1.5),
        ("top_p", -1),
        ("min_p", 2),
        ("top_k", 1.5),
        ("top_k", -2),
        ("repetition_penalty", 0),
        ("presence_penalty", 2.5),
        ("frequency_penalty", {}),
        ("seed", 2**63),
        ("seed", "1"),
        ("max_tokens", 0),
        ("max_tokens", -1),
        ("max_tokens", 1.0),
        ("max_tokens", True),
        ("stop", ""),
        ("stop", ["a", ""]),
        ("stop", ["x"] * 17),
        ("stop", [1]),
        ("stop", 1),
        ("stop", ["x" * 1001]),
        ("stop_token_ids", 3),
        ("stop_token_ids", [-1]),
        ("stop_token_ids", ["3"]),
        ("stop_token_ids", [1] * 65),
        ("ignore_eos", 1),
        ("logprobs", 21),
        ("logprobs", -1),
    ],
)
def test_a_wrong_value_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(RequestError, match=f"^{name} is .*; it must be ") as caught:
        params_parse({name: value})
    assert caught.value.param == name
    assert caught.value.code == "invalid_value"


def test_what_is_not_known_is_refused_and_not_ignored() -> None:
    with pytest.raises(RequestError, match="'mirostat' is not supported") as caught:
        params_parse({"mirostat": 2})
    assert caught.value.param == "mirostat"
    assert caught.value.code == "unsupported_parameter"


def test_a_long_wrong_value_is_shown_in_short() -> None:
    with pytest.raises(RequestError) as caught:
        params_parse({"temperature": "x" * 10_000})
    assert len(str(caught.value)) < 200


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(
        st.sampled_from([*PARAMETERS, "other"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=5)
        | st.lists(st.integers() | st.text(max_size=3), max_size=20),
    )
)
def test_any_input_gives_params_or_a_named_error(fields: dict[str, Any]) -> None:
    blamed = None
    params = SamplingParams()
    try:
        params = params_parse(fields)
    except RequestError as error:
        blamed = error.param
    assert blamed is None or blamed in fields
    assert 0 <= params.temperature <= 2
    assert params.max_tokens is None or params.max_tokens > 0


def test_a_seed_fixes_the_draws_and_each_choice_has_its_own() -> None:
    params = SamplingParams(seed=-1)
    assert seed_of(params) == 2**64 - 1
    seeds = [seed_of(params, choice) for choice in range(20)]
    assert seeds == [seed_of(params, choice) for choice in range(20)]
    assert len(set(seeds)) == 20
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_without_a_seed_draws_differ() -> None:
    assert seed_of(SamplingParams()) != seed_of(SamplingParams())


def test_biases_are_pairs_in_the_order_of_their_ids() -> None:
    found = params_parse({"logit_bias": {"7": -100, "3": 1.5}, "allowed_tokens": [3, 7]})
    assert found.logit_bias == ((3, 1.5), (7, -100.0))
    assert found.allowed_tokens == (3, 7)
    assert params_parse({"logit_bias": {}}).logit_bias == ()
