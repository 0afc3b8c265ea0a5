"""The fold over a trace's spans, and the one line that is shown of what was said."""

from decimal import Decimal
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.traces.core.preview import PREVIEW_LEN, preview
from hone.traces.core.span import Span
from hone.traces.core.summary import merged, summary_of
from hone.traces.core.trace_row import COLUMNS, KEY, summary_from, text_array, trace_row_of

WORDS = st.sampled_from(["a", "b", "c"])
MAYBE = st.none() | WORDS


@st.composite
def spans(draw: st.DrawFn) -> list[Span]:
    """Distinct spans of one trace, few values, so that they often tie."""
    numbers = draw(st.lists(st.integers(1, 30), min_size=1, max_size=8, unique=True))
    return [
        Span(
            trace_id="1" * 32,
            span_id=f"{number:016x}",
            parent_span_id=draw(st.sampled_from([None, "f" * 16])),
            name=draw(WORDS),
            start_ns=(start := draw(st.integers(1, 5)) * 10**9),
            end_ns=start + draw(st.integers(0, 3)) * 10**9,
            type=draw(st.sampled_from(["span", "generation"])),
            status=draw(st.sampled_from(["ok", "error"])),
            model=draw(MAYBE),
            input=draw(MAYBE),
            output=draw(MAYBE),
            usage=draw(st.none() | st.just({"input": 1, "output": 2, "total": 3})),
            cost=draw(st.none() | st.just({"total": Decimal("0.1")})),
            first_token_ns=draw(st.none() | st.just(start + 5)),
            prompt_name=draw(MAYBE),
            user_id=draw(MAYBE),
            session_id=draw(MAYBE),
            environment=draw(MAYBE),
            tags=tuple(draw(st.lists(WORDS, max_size=2))),
            trace_name=draw(MAYBE),
        )
        for number in numbers
    ]


@settings(max_examples=150, deadline=None)
@given(spans(), st.data())
def test_any_order_and_grouping_gives_the_same_summary(
    found: list[Span], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(found))
    cut = data.draw(st.integers(0, len(order)))
    groups = [summary_of(part) for part in (order[:cut], order[cut:]) if part]
    singles = [summary_of([span]) for span in order]
    assert reduce(merged, groups) == reduce(merged, singles) == summary_of(found)


@settings(max_examples=50, deadline=None)
@given(spans())
def test_a_summary_survives_its_row(found: list[Span]) -> None:
    summary = summary_of(found)
    row = dict(zip(COLUMNS, trace_row_of(1, b"t", summary), strict=True))
    row |= {name: list(getattr(summary, name)) for name in ("models", "tags", "prompts")}
    assert summary_from([value for name, value in row.items() if name not in KEY]) == summary


def test_arrays_cross_in_postgresqls_binary_form() -> None:
    assert text_array(()).hex() == "000000000000000000000019"
    assert text_array(("ä",)).hex() == "000000010000000000000019000000010000000100000002c3a4"


@pytest.mark.parametrize(
    ("payload", "of_input", "wanted"),
    [
        (None, True, None),
        ("", True, None),
        ("  two\n lines ", True, "two lines"),
        ('[{"role":"system","content":"s"},{"role":"user","content":"hi\\n you"}]', True, "hi you"),
        ('[{"role":"user","content":"1"},{"role":"assistant","content":"2"}]', True, "1"),
        ('{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}', True, "x"),
        ('[{"role":"user","parts":[{"type":"text","content":"p"}]}]', True, "p"),
        ('{"choices":[{"message":{"role":"assistant","content":"yes"}}]}', False, "yes"),
        ('{"role":"assistant","content":"yes"}', False, "yes"),
        ('{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}', False, "f({})"),
        ('{"parts":[{"type":"tool_call","name":"f","arguments":{"a":1}}]}', False, 'f({"a":1})'),
        ('"quoted"', False, "quoted"),
        ('{"question": "why?"}', True, "why?"),
        ('{"a": {"b": ["deep"]}}', True, "deep"),
        ('{"a": 3}', True, "3"),
        ("{not json", True, "{not json"),
        ("{}", True, None),
        ("[]", False, None),
    ],
)  # fmt: skip
def test_previews_show_what_was_said(
    payload: str | None, of_input: bool, wanted: str | None
) -> None:
    assert preview(payload, of_input=of_input) == wanted


def test_previews_are_short() -> None:
    line = preview("x" * 10_000, of_input=True)
    assert line is not None
    assert len(line) == PREVIEW_LEN
    assert line.endswith("…")
