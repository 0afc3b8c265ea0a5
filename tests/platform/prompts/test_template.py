import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.prompts.core.template import render, variables


def test_variables_come_once_in_their_order() -> None:
    assert variables("{{b}} {{ a }} {{b}} {{c.d-e}}") == ["b", "a", "c.d-e"]


@pytest.mark.parametrize(
    "text",
    ["{{}}", "{{ }}", "{{a b}}", "{{1a}}", "{{a+1}}", "{a}", "{{a\n}}", "{{" + "a" * 101 + "}}"],
)
def test_other_braces_are_plain_text(text: str) -> None:
    assert variables(text) == []
    assert render(text, {"a": "x"}).content == text


def test_chat_messages_are_filled_in_everywhere() -> None:
    messages = [
        {"role": "system", "content": "You are {{who}}."},
        {"role": "user", "content": [{"type": "text", "text": "{{question}}"}], "name": "{{who}}"},
    ]
    rendered = render(messages, {"who": "a clerk", "question": "Why?"})
    assert rendered.content == [
        {"role": "system", "content": "You are a clerk."},
        {"role": "user", "content": [{"type": "text", "text": "Why?"}], "name": "a clerk"},
    ]
    assert messages[0]["content"] == "You are {{who}}."


def test_what_is_missing_stays_and_is_named() -> None:
    rendered = render("{{a}} and {{ b }}", {"a": "1"})
    assert rendered.content == "1 and {{ b }}"
    assert rendered.missing == ("b",)


def test_values_are_not_read_as_templates() -> None:
    assert render("{{a}}{{b}}", {"a": "{{b}}", "b": r"\1{{a}}"}).content == r"{{b}}\1{{a}}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"),
        (3, "3"),
        (None, "null"),
        (True, "true"),
        (["ä"], '["ä"]'),
        ({"k": 1}, '{"k": 1}'),
    ],
)
def test_values_that_are_no_text_appear_as_json(value, text) -> None:
    assert render("{{v}}", {"v": value}).content == text


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_any_text_renders_and_names_exactly_what_it_lacks(text: str, values: dict) -> None:
    rendered = render(text, values)
    assert set(rendered.missing) == set(variables(text)) - values.keys()
    if not variables(text):
        assert rendered.content == text


def test_a_long_text_of_braces_is_quick() -> None:
    assert variables("{{" * 200_000) == []
