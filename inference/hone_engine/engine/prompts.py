"""From a text of any length to tokens, without encoding what can never fit."""

from collections.abc import Mapping

from hone_engine.engine.model import EngineTokenizer
from hone_engine.sampling import params_parse
from hone_engine.types import RequestError, SamplingParams

PROBE_LEN = 8  # characters a token: few texts have more
BORDER = 64  # tokens by which a beginning's end may be cut otherwise than in the whole


def encode_bounded(
    tokenizer: EngineTokenizer, text: str, *, context_len: int, special: bool, param: str
) -> list[int]:
    """The tokens of a text; RequestError when there are more than `context_len` by far.

    Encoding takes seconds a megabyte and keeps others from encoding. So beginnings of the text,
    each twice as long as the one before, are encoded first; one that is too long settles it.
    """
    probe_len = context_len * PROBE_LEN
    while probe_len < len(text):
        count = len(tokenizer.encode(text[:probe_len], special=special))
        if count > context_len + BORDER:
            raise too_long(param, context_len, f"more than {count - BORDER}")
        probe_len *= 2
    return tokenizer.encode(text, special=special)


def too_long(param: str, context_len: int, came: str | int) -> RequestError:
    """The error for a prompt that leaves no room in the context."""
    return RequestError(
        f"This model's maximum context length is {context_len} tokens, but {param} came to {came} "
        "tokens. Please shorten it.",
        param=param,
        code="context_length_exceeded",
    )


def params_of(parameters: Mapping[str, object] | SamplingParams) -> SamplingParams:
    """Sampling parameters, checked if they come from outside; raises RequestError."""
    return parameters if isinstance(parameters, SamplingParams) else params_parse(parameters)
