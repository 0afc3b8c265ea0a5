from typing import Any

import pytest

from hone_engine.tokenizer import Tokenizer
from hone_engine.tokenizer.chat import render
from hone_engine.types import RequestError

USER = {"role": "user", "content": "he"}


def rendered(source: str, messages: list[dict[str, Any]] | None = None, **more: Any) -> str:
    return render(
        source,
        messages or [USER],
        add_generation_prompt=more.pop("add_generation_prompt", True),
        continue_final=more.pop("continue_final", False),
        variables=more,
    )


def test_a_conversation_becomes_tokens_with_special_ones(bytes_tokenizer: Tokenizer) -> None:
    ids = bytes_tokenizer.chat([USER])
    assert ids[:3] == [258, 260, 256]  # <s>, <|user|>, he
    assert bytes_tokenizer.decode(ids, skip_special=False) == "<s><|user|>he<e><|assistant|>"


def test_no_answer_is_opened_where_none_is_wanted(bytes_tokenizer: Tokenizer) -> None:
    text = bytes_tokenizer.chat_text([USER], add_generation_prompt=False)
    assert text == "<s><|user|>he<e>"


def test_a_started_answer_is_gone_on_with(bytes_tokenizer: Tokenizer) -> None:
    messages = [USER, {"role": "assistant", "content": "Once upon"}]
    text = bytes_tokenizer.chat_text(messages, continue_final=True)
    assert text == "<s><|user|>he<e><|assistant|>Once upon"


def test_an_answer_that_the_template_hides_cannot_be_gone_on_with() -> None:
    with pytest.raises(RequestError, match="cannot be continued"):
        rendered("nothing", continue_final=True)


def test_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert rendered("{{ messages[0].content }}", [{"role": "user", "content": parts}]) == "ab"


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"role": "user", "content": [{"type": "image_url"}]}], "a part of type 'image_url'"),
        ([{"role": "user", "content": [{"type": "text"}]}], "a text part without text"),
        ([{"role": "user", "content": ["x"]}], "a part of type 'x'"),
        ([{"role": "user", "content": 5}], "messages[0].content must be a string"),
        ([{"content": "x"}], "messages[0] must be an object with a role"),
        (["x"], "messages[0] must be an object with a role"),
        ([USER, {"role": 1}], "messages[1] must be an object with a role"),
    ],
)
def test_a_message_of_another_shape_is_named(messages: list[Any], words: str) -> None:
    with pytest.raises(RequestError) as error:
        rendered("x", messages)
    assert words in error.value.message
    assert error.value.param == "messages"


def test_no_messages_are_refused() -> None:
    with pytest.raises(RequestError, match="messages is empty"):
        render("x", [], add_generation_prompt=True, continue_final=False, variables={})


def test_a_models_own_objection_is_passed_on() -> None:
    with pytest.raises(RequestError, match="refuses these messages: roles must alternate"):
        rendered("{{ raise_exception('roles must alternate') }}")


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{% for i in range(10000000) %}x{% endfor %}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
    ],
)
def test_a_template_cannot_leave_its_sandbox(source: str) -> None:
    with pytest.raises(RequestError, match="refuses these messages"):
        rendered(source)


def test_a_template_that_is_no_jinja_is_a_clear_error() -> None:
    with pytest.raises(RequestError, match="refuses these messages"):
        rendered("{% for %}")


def test_the_helpers_that_templates_count_on_are_there() -> None:
    assert rendered("{{ {'a': '<\u00e9>'} | tojson }}") == '{"a": "<\u00e9>"}'
    assert rendered("{{ strftime_now('%Y') | length }}") == "4"
    source = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% break %}"
    assert rendered(source + "{% endfor %}", [USER, USER]) == "he"
    assert rendered("{{ bos_token }}|{{ tools }}", bos_token="<s>", tools=None) == "<s>|None"


def test_blocks_leave_no_blank_lines() -> None:
    assert rendered("{% if true %}\nx\n{% endif %}\n") == "x\n"


def test_a_model_without_a_template_says_so(pieces_tokenizer: Tokenizer) -> None:
    assert not pieces_tokenizer.has_chat_template
    with pytest.raises(RequestError, match="has no chat template; use /v1/completions"):
        pieces_tokenizer.chat([USER])
