"""Events of a stream: cut right wherever the network cut them, and put together for the trace."""

from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.gateway.core.stream import Answer, EventCutter, EventTooLongError, error_message

STREAM = (
    b': comment\n\ndata: {"a":1}\n\nevent: x\ndata: first\ndata: second\n\n'
    b'data: {"b":"\xc3\xa4"}\r\n\r\ndata: [DONE]\n\n'
)
EVENTS = [b'{"a":1}', b"first\nsecond", b'{"b":"\xc3\xa4"}', b"[DONE]"]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_are_whole_wherever_the_bytes_are_cut(cuts: list[int]) -> None:
    cutter = EventCutter()
    bounds = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(bounds)]
    assert [event for piece in pieces for event in cutter.push(piece)] == EVENTS


def test_an_event_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hone.gateway.core.stream.LONGEST_EVENT_BYTES", 100)
    cutter = EventCutter()
    with pytest.raises(EventTooLongError):
        list(cutter.push(b"data: " + b"x" * 200))


def piece(index: int = 0, finish: str | None = None, **delta: object) -> dict[str, object]:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


def test_pieces_become_a_message() -> None:
    answer = Answer()
    for number, chunk in enumerate(
        [piece(role="assistant"), piece(content="a"), piece(content="b"), piece(finish="stop")]
    ):
        answer.add(chunk, now_ns=number)
    assert answer.output("chat") == {"role": "assistant", "content": "ab"}
    assert answer.first_content_ns == 1
    assert answer.finish_reason == "stop"


def test_several_answers_become_a_list() -> None:
    answer = Answer()
    answer.add(piece(1, content="second"), 0)
    answer.add(piece(0, content="first"), 0)
    assert [m["content"] for m in answer.output("chat")] == ["first", "second"]  # type: ignore[attr-defined]


def test_tool_calls_are_joined_from_their_pieces() -> None:
    answer = Answer()
    first = {"index": 0, "id": "t1", "function": {"name": "look", "arguments": '{"q"'}}
    answer.add(piece(tool_calls=[first]), 0)
    answer.add(piece(tool_calls=[{"index": 0, "function": {"arguments": ':"sea"}'}}]), 0)
    message = answer.output("chat")
    assert isinstance(message, dict)
    assert message["tool_calls"] == [
        {"id": "t1", "type": "function", "function": {"name": "look", "arguments": '{"q":"sea"}'}}
    ]


def test_text_completions_are_texts() -> None:
    answer = Answer()
    answer.add({"choices": [{"index": 0, "text": "Once "}]}, 0)
    answer.add({"choices": [{"index": 0, "text": "upon", "finish_reason": "length"}]}, 0)
    assert answer.output("text") == "Once upon"


def test_an_answer_that_never_came_is_nothing() -> None:
    assert Answer().output("chat") is None


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"error":{"message":"too long"}}', "too long"),
        (b'{"error":"plain"}', "plain"),
        (b'{"detail":"not found"}', "not found"),
        (b"<html>bad gateway</html>", "<html>bad gateway</html>"),
        (orjson.dumps([1]), "[1]"),
    ],
)
def test_the_sentence_in_an_error_of_any_shape(body: bytes, text: str) -> None:
    assert error_message(body) == text
