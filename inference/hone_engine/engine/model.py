"""What the engine asks of a loaded model, and what it says about it."""

from collections.abc import Mapping
from collections.abc import Sequence as Items
from dataclasses import dataclass
from typing import Any, Protocol

from hone_engine.engine.answer import Tokens
from hone_engine.types import Runner


class EngineTokenizer(Tokens, Protocol):
    """What the engine and its server ask of a tokenizer."""

    def encode(
        self, text: str, *, special: bool = True, parse_special: bool = True
    ) -> list[int]: ...
    def chat_text(
        self,
        messages: Items[Mapping[str, Any]],
        *,
        add_generation_prompt: bool = True,
        continue_final: bool = False,
    ) -> str: ...


class Model(Protocol):
    """A loaded model: what `hone_engine.runner.load` answers."""

    @property
    def runner(self) -> Runner: ...
    @property
    def tokenizer(self) -> EngineTokenizer: ...
    @property
    def name(self) -> str: ...
    @property
    def eos_token_ids(self) -> tuple[int, ...]: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def device(self) -> str: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What does not change while an engine lives. `started_at` in unix seconds."""

    name: str
    device: str
    context_len: int
    vocab_size: int
    memory_bytes: int
    kv_tokens_total: int
    max_batch: int
    started_at: float
