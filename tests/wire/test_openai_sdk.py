"""What the unmodified openai SDK makes of our answers."""

import math

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessageParam

MODEL = "smollm2-135m"
ASK: list[ChatCompletionMessageParam] = [
    {"role": "system", "content": "Answer in one sentence."},
    {"role": "user", "content": "What is the capital city of France?"},
]


def test_models_are_listed(client: OpenAI) -> None:
    models = client.models.list().data
    assert [model.id for model in models] == [MODEL]
    assert client.models.retrieve(MODEL).object == "model"


def test_a_chat_is_answered(client: OpenAI) -> None:
    answer = client.chat.completions.create(
        model=MODEL, messages=ASK, temperature=0, max_completion_tokens=20
    )
    ChatCompletion.model_validate(answer.model_dump(), strict=True)
    assert answer.object == "chat.completion"
    assert answer.id.startswith("chatcmpl-")
    choice = answer.choices[0]
    assert choice.message.role == "assistant"
    assert choice.message.content
    assert "Paris" in choice.message.content
    assert choice.finish_reason in ("stop", "length")
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens is not None


def test_a_streamed_chat_says_the_same(client: OpenAI) -> None:
    whole = client.chat.completions.create(
        model=MODEL, messages=ASK, temperature=1, seed=7, max_tokens=20
    )
    chunks = list(
        client.chat.completions.create(
            model=MODEL,
            messages=ASK,
            temperature=1,
            seed=7,
            max_tokens=20,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk.model_dump(), strict=True)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert whole.usage is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    ends = [c.choices[0].finish_reason for c in chunks if c.choices]
    assert ends[:-1] == [None] * (len(ends) - 1)
    assert ends[-1] == whole.choices[0].finish_reason


def test_the_sdks_own_stream_helper_adds_it_up(client: OpenAI) -> None:
    with client.chat.completions.stream(
        model=MODEL, messages=ASK, temperature=0, max_tokens=12, logprobs=True, top_logprobs=2
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert final.choices[0].message.content
    assert final.choices[0].logprobs is not None
    assert final.choices[0].logprobs.content


def test_chat_logprobs_are_those_of_the_text(client: OpenAI) -> None:
    answer = client.chat.completions.create(
        model=MODEL, messages=ASK, temperature=0, max_tokens=6, logprobs=True, top_logprobs=3
    )
    choice = answer.choices[0]
    assert choice.logprobs is not None
    assert choice.logprobs.content is not None
    assert "".join(item.token for item in choice.logprobs.content) == choice.message.content
    for item in choice.logprobs.content:
        assert bytes(item.bytes or []).decode() == item.token
        assert len(item.top_logprobs) == 3
        assert item.top_logprobs[0].logprob == item.logprob, "greedy takes the likeliest"
        assert sum(math.exp(top.logprob) for top in item.top_logprobs) <= 1 + 1e-6
    without = client.chat.completions.create(model=MODEL, messages=ASK, max_tokens=1)
    assert without.choices[0].logprobs is None


def test_n_answers_come_in_one_call_and_in_one_stream(client: OpenAI) -> None:
    answer = client.chat.completions.create(
        model=MODEL, messages=ASK, temperature=1, seed=3, n=3, max_tokens=10
    )
    stream = client.chat.completions.create(
        model=MODEL, messages=ASK, temperature=1, seed=3, n=3, max_tokens=10, stream=True
    )
    texts = ["", "", ""]
    for chunk in stream:
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert [choice.message.content for choice in answer.choices] == texts
    assert len(set(texts)) > 1


def test_a_text_is_continued_from_strings_and_tokens(client: OpenAI) -> None:
    def ask(prompt: str | list[str] | list[int] | list[list[int]]) -> list[str]:
        answer = client.completions.create(model=MODEL, prompt=prompt, temperature=0, max_tokens=4)
        assert answer.object == "text_completion"
        return [choice.text for choice in answer.choices]

    one = ask("The sea is")
    assert ask(["The sea is", "A dog"])[0] == one[0]
    assert len(ask([[504, 2540], [66]])) == 2
    assert len(ask([504, 2540])) == 1


def test_text_logprobs_have_the_older_shape(client: OpenAI) -> None:
    answer = client.completions.create(
        model=MODEL, prompt="The sea is", temperature=0, max_tokens=5, logprobs=2
    )
    found = answer.choices[0].logprobs
    assert found is not None
    assert found.tokens is not None
    assert found.token_logprobs is not None
    assert found.top_logprobs is not None
    assert found.text_offset is not None
    text = answer.choices[0].text
    assert "".join(found.tokens) == text
    assert [text[at:].startswith(t) for at, t in zip(found.text_offset, found.tokens, strict=True)]
    for token, logprob, top in zip(
        found.tokens, found.token_logprobs, found.top_logprobs, strict=True
    ):
        assert top[token] == logprob
        assert len(top) == 2


def test_streamed_text_logprobs_go_on_where_the_text_does(client: OpenAI) -> None:
    stream = client.completions.create(
        model=MODEL, prompt="The sea is", temperature=0, max_tokens=6, logprobs=0, stream=True
    )
    text, offsets, tokens = "", [], []
    for chunk in stream:
        text += chunk.choices[0].text
        if chunk.choices[0].logprobs is not None:
            offsets += chunk.choices[0].logprobs.text_offset or []
            tokens += chunk.choices[0].logprobs.tokens or []
    assert "".join(tokens) == text
    assert offsets == [len("".join(tokens[:at])) for at in range(len(tokens))]


def test_stop_strings_end_it(client: OpenAI) -> None:
    whole = client.completions.create(
        model=MODEL, prompt="The sea is", temperature=0, max_tokens=16
    )
    stop = whole.choices[0].text[5:9]
    cut = client.completions.create(
        model=MODEL, prompt="The sea is", temperature=0, max_tokens=16, stop=[stop, "never"]
    )
    assert cut.choices[0].finish_reason == "stop"
    assert cut.choices[0].text == whole.choices[0].text.split(stop)[0]


def test_the_engines_own_parameters_go_through_extra_body(client: OpenAI) -> None:
    answer = client.completions.create(
        model=MODEL,
        prompt="The sea is",
        max_tokens=8,
        seed=1,
        extra_body={
            "top_k": 20,
            "min_p": 0.05,
            "repetition_penalty": 1.1,
            "ignore_eos": True,
            "stop_token_ids": [0],
        },
    )
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 8
    assert answer.model_extra is not None
    assert answer.model_extra["timings"]["finished_at"] > answer.model_extra["timings"]["queued_at"]


async def test_the_asynchronous_client_works_too(engine_url: str) -> None:
    async with AsyncOpenAI(base_url=engine_url + "/v1", api_key="sk-wire") as client:
        stream = await client.chat.completions.create(
            model=MODEL, messages=ASK, temperature=0, max_tokens=8, stream=True
        )
        text = "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])
    assert text


def test_errors_arrive_as_the_sdks_own(client: OpenAI, engine_url: str) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="gpt-4", messages=ASK)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as wrong:
        client.chat.completions.create(model=MODEL, messages=ASK, temperature=9)
    assert wrong.value.param == "temperature"
    with pytest.raises(openai.BadRequestError) as long:
        client.completions.create(model=MODEL, prompt="a " * 9000)
    assert long.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as tools:
        client.chat.completions.create(
            model=MODEL,
            messages=ASK,
            tools=[{"type": "function", "function": {"name": "f"}}],
        )
    assert tools.value.param == "tools"
    with (
        OpenAI(base_url=engine_url + "/v1", api_key="sk-charlie", max_retries=0) as charlie,
        pytest.raises(openai.AuthenticationError),
    ):
        charlie.models.list()


def test_leaving_a_stream_early_is_fine(client: OpenAI) -> None:
    for _ in range(3):
        stream = client.chat.completions.create(
            model=MODEL, messages=ASK, stream=True, extra_body={"ignore_eos": True}
        )
        next(iter(stream))
        stream.close()
    answer = client.chat.completions.create(model=MODEL, messages=ASK, max_tokens=1)
    assert answer.choices[0].finish_reason in ("stop", "length")
