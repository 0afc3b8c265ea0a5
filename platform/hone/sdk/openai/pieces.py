"""Chunks of a streamed answer added up into what the answer would have been at once."""

from typing import Any, Final, Protocol

MAX_PIECES: Final = 100_000  # of one answer, so that an endless stream costs bounded memory


class Pieces(Protocol):
    """What the chunks have said so far."""

    model: str | None
    usage: Any

    def add(self, chunk: Any) -> bool:
        """Take a chunk; whether it holds something of the answer itself."""
        ...

    def output(self) -> object:
        """The answer so far."""
        ...


class _Choice:
    """One of `n` answers."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.calls: dict[int, dict[str, Any]] = {}
        self.role = "assistant"
        self.finish_reason: str | None = None

    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = {"role": self.role}
        found |= {name: "".join(parts) for name, parts in self.texts.items()}
        found.setdefault("content", None)
        if self.calls:
            found["tool_calls"] = [self.calls[index] for index in sorted(self.calls)]
        if self.finish_reason is not None:
            found["finish_reason"] = self.finish_reason
        return found


class ChatPieces:
    """Chunks of /chat/completions."""

    _TEXTS: Final = ("content", "refusal", "reasoning_content", "reasoning")

    def __init__(self) -> None:
        self.model: str | None = None
        self.usage: Any = None
        self._choices: dict[int, _Choice] = {}
        self._num_pieces = 0

    def add(self, chunk: Any) -> bool:
        self.model = getattr(chunk, "model", None) or self.model
        self.usage = getattr(chunk, "usage", None) or self.usage
        says = False
        for choice in getattr(chunk, "choices", None) or ():
            known = self._choices.setdefault(choice.index, _Choice())
            known.finish_reason = choice.finish_reason or known.finish_reason
            says |= self._delta(known, choice.delta)
        return says

    def output(self) -> object:
        messages = [self._choices[index].message() for index in sorted(self._choices)]
        return messages[0] if len(messages) == 1 else messages or None

    def _delta(self, known: _Choice, delta: Any) -> bool:
        known.role = getattr(delta, "role", None) or known.role
        says = False
        for name in self._TEXTS:
            text = getattr(delta, name, None)
            if isinstance(text, str) and text:
                says = True
                self._num_pieces += 1
                if self._num_pieces <= MAX_PIECES:
                    known.texts.setdefault(name, []).append(text)
        for call in getattr(delta, "tool_calls", None) or ():
            says = True
            _add_call(known.calls, call)
        return says


def _add_call(calls: dict[int, dict[str, Any]], call: Any) -> None:
    known = calls.setdefault(
        call.index, {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
    )
    known["id"] = getattr(call, "id", None) or known["id"]
    function = getattr(call, "function", None)
    if function is not None:
        known["function"]["name"] += getattr(function, "name", None) or ""
        known["function"]["arguments"] += getattr(function, "arguments", None) or ""


class TextPieces:
    """Chunks of /completions."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.usage: Any = None
        self._texts: dict[int, list[str]] = {}
        self._num_pieces = 0

    def add(self, chunk: Any) -> bool:
        self.model = getattr(chunk, "model", None) or self.model
        self.usage = getattr(chunk, "usage", None) or self.usage
        says = False
        for choice in getattr(chunk, "choices", None) or ():
            if choice.text:
                says = True
                self._num_pieces += 1
                if self._num_pieces <= MAX_PIECES:
                    self._texts.setdefault(choice.index, []).append(choice.text)
        return says

    def output(self) -> object:
        texts = ["".join(self._texts[index]) for index in sorted(self._texts)]
        return texts[0] if len(texts) == 1 else texts or None


class ResponsePieces:
    """Events of /responses: the last one holds the whole answer."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.usage: Any = None
        self._texts: list[str] = []
        self._whole: Any = None

    def add(self, chunk: Any) -> bool:
        response = getattr(chunk, "response", None)
        if response is not None:
            self.model = getattr(response, "model", None) or self.model
            self.usage = getattr(response, "usage", None) or self.usage
            self._whole = getattr(response, "output", None) or self._whole
        delta = getattr(chunk, "delta", None)
        if str(getattr(chunk, "type", "")).endswith(".delta") and isinstance(delta, str):
            if len(self._texts) < MAX_PIECES and chunk.type == "response.output_text.delta":
                self._texts.append(delta)
            return bool(delta)
        return False

    def output(self) -> object:
        return self._whole or "".join(self._texts) or None
