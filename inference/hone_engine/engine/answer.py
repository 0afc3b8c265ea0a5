"""One request under way: its tokens become text, end where they should, and carry their times."""

from collections.abc import Sequence as Items
from dataclasses import dataclass, replace
from typing import Protocol

from hone_engine.tokenizer import Detokenizer, StopMatcher
from hone_engine.types import (
    Delta,
    FinishReason,
    Request,
    Sampled,
    Sequence,
    Timings,
    TokenLogprob,
)


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer. `finish_reason` is "stop", "length" or "abort"."""

    request_id: int
    text: str
    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprob, ...]
    finish_reason: FinishReason
    stop_reason: str | int | None
    timings: Timings


Pending = tuple[int, int, TokenLogprob | None]  # where its text starts, token, logprob


class Tokens(Protocol):
    """What an answer asks of its model's tokenizer."""

    def token_bytes(self, token_id: int) -> bytes: ...
    def detokenizer(
        self, *, skip_special: bool = True, prompt_ids: Items[int] = ()
    ) -> Detokenizer: ...


class Answer:
    """Takes the drawn tokens of one sequence and says what of them may be shown.

    A token is told when its first character is shown; what lies behind a stop string is never.
    """

    __slots__ = (
        "_detokenizer",
        "_ends",
        "_params",
        "_pending",
        "_stop",
        "_tokens",
        "_written_len",
        "first_token_at",
        "latest_token_at",
        "queued_at",
        "sequence",
        "shown_len",
        "started_at",
    )

    def __init__(
        self,
        sequence: Sequence,
        request: Request,
        tokens: Tokens,
        eos_token_ids: Items[int],
        queued_at: float,
    ):
        self.sequence = sequence
        self.queued_at = queued_at
        self.started_at: float | None = None
        self.first_token_at: float | None = None
        self.latest_token_at = 0.0
        self.shown_len = 0  # characters
        self._params = request.params
        self._ends = frozenset(request.params.stop_token_ids)
        if not request.params.ignore_eos:
            self._ends |= frozenset(eos_token_ids)
        self._tokens = tokens
        self._detokenizer = tokens.detokenizer(prompt_ids=request.prompt_ids)
        self._stop = StopMatcher(request.params.stop)
        self._written_len = 0  # characters that came out of the detokenizer
        self._pending: list[Pending] = []

    def push(self, sampled: Sampled, now: float) -> Delta | None:
        """What a drawn token adds: None for nothing yet, a Delta with `finish_reason` at the end.
        `now` in unix seconds."""
        if self.first_token_at is None:
            self.first_token_at = now
        self.latest_token_at = now
        token_id = sampled.token_id
        if token_id in self._ends:
            stop_reason = token_id if token_id in self._params.stop_token_ids else None
            return self._end("stop", self._rest(), stop_reason, now)
        logprob = self._explain(sampled) if sampled.logprob is not None else None
        self._pending.append((self._written_len, token_id, logprob))
        text = self._detokenizer.push(token_id)
        self._written_len += len(text)
        shown = self._stop.push(text)
        if self._stop.matched is not None:
            return self._end("stop", shown, self._stop.matched, now)
        if len(self.sequence.token_ids) >= self.sequence.max_len:
            return self._length(shown, now)
        return self._told(shown) if shown else None

    def finish(self, reason: FinishReason, now: float, error: str | None = None) -> Delta:
        """The last word on a request that ends from outside: aborted or failed."""
        self._pending.clear()
        return replace(self._end(reason, "", None, now), error=error)

    def _length(self, shown: str, now: float) -> Delta:
        shown += self._rest()
        if self._stop.matched is not None:  # the half character at the end completed one
            return self._end("stop", shown, self._stop.matched, now)
        return self._end("length", shown, None, now)

    def _rest(self) -> str:
        """What detokenizer and stop strings still hold back when no more tokens come."""
        text = self._detokenizer.flush()
        self._written_len += len(text)
        return self._stop.push(text) + self._stop.flush()

    def _told(self, shown: str) -> Delta:
        """A piece of text and the tokens that begin in it."""
        self.shown_len += len(shown)
        told = self._pending
        if told and told[-1][0] >= self.shown_len:  # the later ones are held back
            told = [item for item in told if item[0] < self.shown_len]
        self._pending = self._pending[len(told) :]
        return self._delta(shown, told)

    def _delta(self, shown: str, told: Items[Pending]) -> Delta:
        return Delta(
            self.sequence.id,
            shown,
            tuple([token_id for _, token_id, _ in told]),
            tuple([logprob for _, _, logprob in told if logprob is not None]),
        )

    def _end(
        self, reason: FinishReason, shown: str, stop_reason: str | int | None, now: float
    ) -> Delta:
        whole = self._stop.matched is None  # then nothing is held back for good
        told = self._delta(shown, self._pending) if whole else self._told(shown)
        return replace(
            told, finish_reason=reason, stop_reason=stop_reason, timings=self.timings(now)
        )

    def timings(self, now: float) -> Timings:
        """The request's times as of its end, `now`."""
        return Timings(
            queued_at=self.queued_at,
            started_at=self.started_at,
            first_token_at=self.first_token_at,
            finished_at=now,
            prompt_tokens=self.sequence.prompt_len,
            cached_tokens=self.sequence.cached_len,
            completion_tokens=self.sequence.completion_len,
        )

    def _explain(self, sampled: Sampled) -> TokenLogprob:
        name = self._tokens.token_bytes
        assert sampled.logprob is not None
        return TokenLogprob(
            sampled.token_id,
            name(sampled.token_id),
            sampled.logprob,
            tuple([(token_id, name(token_id), logprob) for token_id, logprob in sampled.top]),
        )
