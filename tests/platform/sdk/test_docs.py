"""The blocks of docs/sdk.md run, one after the other, and what they promise arrives."""

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import hone.sdk as hone
from hone.sdk import options
from hone.sdk.prompts.fetch import prompts_forget

PAGE = Path(hone.__file__).parents[3] / "docs" / "sdk.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
CHAT = (
    b'{"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o-2026", "choices": '
    b'[{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}]}'
)


def test_the_blocks_run_and_are_recorded(collector: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HONE_URL", collector.url)
    monkeypatch.setenv("HONE_SECRET_KEY", "sk")
    monkeypatch.setenv("OPENAI_BASE_URL", collector.url + "/model")
    monkeypatch.setenv("OPENAI_API_KEY", "sk")
    monkeypatch.setattr("hone.sdk.client._be_global", lambda new: None)
    collector.other = lambda path, body: (
        ({"Content-Type": "application/json"}, CHAT) if path.startswith("/model") else None
    )
    prompts_forget()
    namespace: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), namespace)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        namespace["client"].close()
    names = {span.name for span in collector.spans}
    assert names >= {"answer", "look_up", "find", "write", "there", "chat gpt-4o", "reply"}
    assert collector.named("there").parent_id == collector.named("in two places").id
    assert [score["name"] for score in collector.scores] == ["helpful"]
    assert collector.named("find").attributes["session.id"] == "s-17"
    assert collector.named("answer").resource["service.name"] == "shop"


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    text = PAGE.read_text()
    assert f"{options.MAX_QUEUE_SPANS:,} spans" in text
    assert f"{options.MAX_QUEUE_BYTES // 2**20} MiB" in text
    assert f"{options.MAX_VALUE_LEN:,} characters" in text


def test_everything_public_is_on_the_page() -> None:
    text = PAGE.read_text()
    hidden = {"Observation", "Prompt", "PromptError", "Stats", "shutdown"}
    assert [n for n in hone.__all__ if n not in hidden and not re.search(rf"\b{n}\b", text)] == []
