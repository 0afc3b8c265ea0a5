"""`chat`: a conversation in the terminal."""

import argparse
import contextlib
import sys
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

from hone_engine.cli.settings import add_cache_arguments, add_engine_arguments
from hone_engine.cli.terminal import ProgressLine, dim, say
from hone_engine.config import EngineConfig
from hone_engine.engine import EngineThread
from hone_engine.types import Delta, EngineError, RequestError, Timings

HELP = "/reset starts anew, /exit leaves (so does Ctrl-D); Ctrl-C ends an answer"
Message = dict[str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_engine_arguments(parser)
    add_cache_arguments(parser)
    parser.add_argument("--system", help="what the model is told first")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--top-p", type=float, default=0.95)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--max-tokens", type=int, default=1000, help="of one answer")


def run(options: argparse.Namespace) -> int:
    config = EngineConfig(
        threads=options.threads,
        max_batch=1,
        cache_tokens=options.cache_tokens,
        context_len=options.context_len,
        kv_dtype=options.kv_dtype,
        kernels=options.kernels,
        device=options.device,
        dtype=options.dtype,
        wide_copy=options.wide_copy,
        keep_widths=options.keep_widths,
        batch_invariant=options.batch_invariant,
    )
    loading = ProgressLine("Loading")
    with contextlib.closing(
        EngineThread.load(options.model, config, on_progress=loading)
    ) as engine:
        say(dim(f"{engine.info.name}, {engine.info.device}. {HELP}"))
        Chat(engine, _parameters(options), options.system).run()
    return 0


def _parameters(options: argparse.Namespace) -> dict[str, Any]:
    found = {"temperature": options.temperature, "top_p": options.top_p}
    optional = {"seed": options.seed, "max_tokens": options.max_tokens}
    return found | {name: value for name, value in optional.items() if value is not None}


class Chat:
    """Reads lines, streams answers; the conversation grows until /reset."""

    def __init__(self, engine: EngineThread, parameters: dict[str, Any], system: str | None):
        self._engine = engine
        self._parameters = parameters
        self._opening = [{"role": "system", "content": system}] if system else []
        self._messages: list[Message] = list(self._opening)

    def run(self) -> None:
        for line in _lines():
            if line in ("/exit", "/quit"):
                return
            if line == "/reset":
                self._messages = list(self._opening)
                say(dim("A new conversation."))
            elif line.startswith("/"):
                say(dim(HELP))
            elif line:
                self._turn(line)

    def _turn(self, text: str) -> None:
        asked = [*self._messages, {"role": "user", "content": text}]
        try:
            answer = self._answer(asked)
        except (RequestError, EngineError) as error:
            say(f"{error}" + dim("  (/reset starts anew)"))
            return
        self._messages = [*asked, {"role": "assistant", "content": answer}]

    def _answer(self, messages: list[Message]) -> str:
        """Stream one answer to the terminal and return it; Ctrl-C ends it where it is."""
        deltas: SimpleQueue[Delta] = SimpleQueue()
        request = self._engine.chat_request(messages, self._parameters)
        pending = self._engine.submit(request, on_delta=deltas.put)
        pieces: list[str] = []
        while True:
            try:
                delta = deltas.get()
            except KeyboardInterrupt:
                pending.cancel()
                continue
            pieces.append(delta.text)
            say(delta.text, end="")
            if delta.finish_reason is not None:
                break
        say("\n" + dim(_summary(delta)))
        pending.result()  # raises what the engine failed of
        return "".join(pieces)


def _summary(delta: Delta) -> str:
    timings = delta.timings
    if timings is None:
        return ""
    stopped = {"abort": "stopped, ", "length": "cut at the limit, "}
    return f"{stopped.get(str(delta.finish_reason), '')}{rate(timings)}"


def rate(timings: Timings) -> str:
    """E.g. "42 tokens, 61.2 tokens/s, the first after 0.12 s"."""
    if timings.first_token_at is None:
        return "no tokens"
    elapsed_s = timings.finished_at - timings.first_token_at
    later = timings.completion_tokens - 1
    speed = f"{later / elapsed_s:.1f} tokens/s, " if later > 0 and elapsed_s > 0 else ""
    wait_s = timings.first_token_at - timings.queued_at
    return f"{timings.completion_tokens} tokens, {speed}the first after {wait_s:.2f} s"


def _lines() -> Iterator[str]:
    """What is typed, line by line, until the end; Ctrl-C at the prompt clears the line."""
    if sys.stdin.isatty():
        with contextlib.suppress(ImportError):
            __import__("readline")  # lines can be edited and called back
    while True:
        try:
            yield input("> " if sys.stdin.isatty() else "").strip()
        except EOFError:
            say()
            return
        except KeyboardInterrupt:
            say()
