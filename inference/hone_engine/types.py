"""The values that scheduler, runner, engine and server hand to one another. No tensors here."""

from collections.abc import Sequence as Items
from dataclasses import dataclass, field
from typing import Literal, Protocol

FinishReason = Literal["stop", "length", "abort", "error"]

MAX_STOPS = 16
MAX_TOP_LOGPROBS = 20


class RequestError(ValueError):
    """A request that cannot be served as asked: the caller's mistake, told in one sentence.

    `param` is the argument at fault (None when it is the whole), `code` a stable snake_case name
    of the mistake, such as `invalid_value` or `context_length_exceeded`.
    """

    def __init__(self, message: str, *, param: str | None = None, code: str = "invalid_value"):
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code


class QueueFullError(RuntimeError):
    """As many requests wait as may; try again in `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: int = 1):
        super().__init__(message)
        self.retry_after = retry_after


class EngineError(RuntimeError):
    """A request failed inside of the engine through no fault of the caller's."""


class LoadingError(EngineError):
    """No request is taken while a model is loaded; try again in `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: int = 2):
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the next token is chosen and when to end. Build it from outside input with
    `hone_engine.sampling.params_parse`, which checks every field and names what is wrong.

    Order: penalties, `logit_bias`, `allowed_tokens`, temperature, top_k, top_p, min_p, typical_p,
    draw. `temperature` 0 is greedy; `top_k` 0, `top_p` 1, `min_p` 0 and `typical_p` 1 are off.
    `logit_bias` pairs ids with what is added to their logits; `allowed_tokens` () means all.
    `repetition_penalty` looks at prompt and answer, `presence_` and `frequency_penalty` at the
    answer only. `seed` None means a random one. `max_tokens` None means up to the end of the
    context. `logprobs` None: none, 0: the chosen token's, n: also the n likeliest; they are those
    of the model (before penalties and temperature).
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    allowed_tokens: tuple[int, ...] = ()
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    logprobs: int | None = None


@dataclass(slots=True, eq=False)
class Sequence:
    """One running text: the scheduler's state, read by the runner, which changes only `memo`.

    `token_ids` is prompt and answer; `computed_len` of them have keys and values in `pages`
    (page i holds the tokens i*page_len .. (i+1)*page_len-1). `seed` (64 bits, unsigned) and the
    position of the token to draw fix the random number, whatever else is in the batch.
    After a preemption `pages` is empty, `computed_len` 0 and `num_preemptions` one more: a runner
    that caches a row of its page table compares `num_preemptions` and len(pages), both.
    """

    id: int
    token_ids: list[int]
    prompt_len: int
    params: SamplingParams
    seed: int
    max_len: int  # ends with `length` when token_ids is this long; at most the context
    computed_len: int = 0
    pages: list[int] = field(default_factory=list)
    page_hashes: list[bytes] = field(default_factory=list)  # of the full pages, chained
    cached_len: int = 0  # tokens of the prompt taken from the prefix cache at the first admission
    num_preemptions: int = 0
    num_skips: int = 0
    memo: object | None = None  # the runner's own (token counts for penalties); None at birth

    def __post_init__(self) -> None:
        assert self.token_ids, "a sequence has at least one token"
        assert 0 < self.prompt_len <= len(self.token_ids) < self.max_len

    @property
    def num_uncomputed(self) -> int:
        return len(self.token_ids) - self.computed_len

    @property
    def completion_len(self) -> int:
        return len(self.token_ids) - self.prompt_len


@dataclass(frozen=True, slots=True)
class Chunk:
    """The tokens start .. start+length-1 of a sequence, to be computed in this step.

    `start` equals the sequence's `computed_len`, and its pages reach beyond the chunk's end.
    """

    sequence: Sequence
    start: int
    length: int

    @property
    def samples(self) -> bool:
        """Whether the chunk ends at the text's end, so that a token is drawn after it."""
        return self.start + self.length == len(self.sequence.token_ids)


@dataclass(frozen=True, slots=True)
class Sampled:
    """A drawn token; `logprob` (natural log) and `top` (likeliest first) only where asked for."""

    token_id: int
    logprob: float | None = None
    top: tuple[tuple[int, float], ...] = ()


class Runner(Protocol):
    """A model on a device with its paged cache: computes chunks, draws tokens.

    Called by one thread at a time. The scheduler owns the page numbers 0 .. num_pages-1.
    """

    @property
    def num_pages(self) -> int: ...
    @property
    def page_len(self) -> int: ...
    @property
    def context_len(self) -> int: ...
    @property
    def vocab_size(self) -> int: ...

    def run(self, chunks: Items[Chunk]) -> list[Sampled | None]:
        """Compute the chunks (at most EngineConfig.max_step_tokens rows over all, at most
        max_batch chunks, each sequence at most once) and return, per chunk, the token drawn or
        None where the chunk does not `samples`. Changes no sequence but for its `memo`."""
        ...


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token as shown to people: id, its text's bytes (may be part of a character), logprob."""

    token_id: int
    token: bytes
    logprob: float
    top: tuple[tuple[int, bytes, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Timings:
    """Of one finished request; `_at` in unix seconds, None for what was never reached."""

    queued_at: float
    started_at: float | None  # first prefill
    first_token_at: float | None
    finished_at: float
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Delta:
    """What one step added to one request. The last one, and only it, has `finish_reason`.

    `text` may be empty (half a character, or text held back that may begin a stop string);
    all texts of a request joined are its answer. `logprobs` lie beside the tokens whose text has
    been released.
    """

    request_id: int
    text: str
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    finish_reason: FinishReason | None = None
    stop_reason: str | int | None = None  # the stop string or stop token id that ended it
    error: str | None = None  # with finish_reason "error"
    timings: Timings | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What `Engine.add` takes: `prompt_ids` in the model's vocabulary, at least one.

    `choice` tells the answers to one prompt apart: with a seed each draws its own numbers.
    """

    prompt_ids: tuple[int, ...] | list[int]
    params: SamplingParams = SamplingParams()
    choice: int = 0


@dataclass(frozen=True, slots=True)
class EngineStats:
    """One look at the engine, cheap and from any thread. Rates are over the latest 10 s."""

    num_running: int
    num_waiting: int
    kv_tokens_used: int  # in pages held by running sequences
    kv_tokens_cached: int  # in pages kept for reuse that nobody holds
    kv_tokens_total: int
    tokens_per_second: float
    prompt_tokens_per_second: float
    num_steps: int
    heartbeat_age_s: float
    num_finished: int
    num_failed: int
    num_aborted: int
    num_preemptions: int
    num_prompt_tokens: int
    num_cached_tokens: int
    num_completion_tokens: int
