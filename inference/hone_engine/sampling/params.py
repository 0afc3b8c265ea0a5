"""Sampling parameters from outside: every field checked, nothing ignored."""

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from hone_engine.types import MAX_STOPS, MAX_TOP_LOGPROBS, RequestError, SamplingParams

Check = Callable[[str, object], Any]

MAX_STOP_LEN = 1000  # characters
MAX_STOP_TOKEN_IDS = 64
MAX_BIASES = 1024
MAX_ALLOWED_TOKENS = 16384
INT64 = 2**63


def params_parse(fields: Mapping[str, object]) -> SamplingParams:
    """Sampling parameters of checked `fields`, which carry the names of `SamplingParams`
    (and `max_completion_tokens`, the newer name of `max_tokens`); null means the default.

    Raises RequestError naming the parameter, what came and what was wanted; a name that is not
    known is refused too (code `unsupported_parameter`), never ignored.
    """
    values: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in PARAMETERS:
            raise RequestError(
                f"parameter {name!r} is not supported; known are {', '.join(PARAMETERS)}",
                param=name,
                code="unsupported_parameter",
            )
        if value is not None:
            values[_ALIASES.get(name, name)] = PARAMETERS[name](name, value)
    return replace(SamplingParams(), **values)


def seed_of(params: SamplingParams, choice: int = 0) -> int:
    """The 64-bit seed of the `choice`-th answer to one request; a random one without `seed`.

    Choice 0 of seed n draws as a request of its own with seed n does.
    """
    if params.seed is None:
        return secrets.randbits(64)
    if choice == 0:
        return params.seed % 2**64
    digest = blake2b(b"%d/%d" % (params.seed, choice), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def refuse(name: str, value: object, wanted: str) -> RequestError:
    """The error for a parameter of a wrong type or out of its range."""
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return RequestError(f"{name} is {shown}; it must be {wanted}", param=name)


def number(least: float, most: float, *, above: bool = False) -> Check:
    """A check for a finite number of least..most; `above`: greater than `least`."""
    wanted = (
        f"a number {'above' if above else 'from'} {least:g} {'up ' if above else ''}to {most:g}"
    )

    def check(name: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refuse(name, value, wanted)
        if not math.isfinite(value) or not least <= value <= most or (above and value == least):
            raise refuse(name, value, wanted)
        return float(value)

    return check


def integer(least: int, most: int | None = None) -> Check:
    """A check for an integer of least..most."""
    wanted = f"an integer of at least {least}" if most is None else f"an integer {least} to {most}"

    def check(name: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise refuse(name, value, wanted)
        if value < least or (most is not None and value > most):
            raise refuse(name, value, wanted)
        return value

    return check


def flag(name: str, value: object) -> bool:
    """A check for true or false."""
    if not isinstance(value, bool):
        raise refuse(name, value, "true or false")
    return value


def _top_k(name: str, value: object) -> int:
    top_k: int = integer(-1)(name, value)
    return max(0, top_k)  # -1 is off too, as elsewhere


def _stop(name: str, value: object) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list | tuple) or not all(isinstance(stop, str) for stop in stops):
        raise refuse(name, value, "a string or a list of strings")
    if len(stops) > MAX_STOPS:
        raise refuse(name, value, f"at most {MAX_STOPS} strings, {len(stops)} came")
    if not all(0 < len(stop) <= MAX_STOP_LEN for stop in stops):
        raise refuse(name, value, f"of strings that have 1 to {MAX_STOP_LEN} characters")
    return tuple(stops)


def _token_ids(name: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or len(value) > MAX_STOP_TOKEN_IDS:
        raise refuse(name, value, f"a list of at most {MAX_STOP_TOKEN_IDS} token ids")
    return tuple(integer(0)(name, item) for item in value)


def _logit_bias(name: str, value: object) -> tuple[tuple[int, float], ...]:
    wanted = f"an object of at most {MAX_BIASES} token ids with numbers from -100 to 100"
    if not isinstance(value, Mapping) or len(value) > MAX_BIASES:
        raise refuse(name, value, wanted)
    check = number(-100, 100)
    found: dict[int, float] = {}
    for key, bias in value.items():
        if not isinstance(key, str | int) or not str(key).isascii() or not str(key).isdigit():
            raise refuse(name, value, wanted)
        found[int(key)] = check(f"{name}[{key}]", bias)
    return tuple(sorted(found.items()))


def _allowed_tokens(name: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not 0 < len(value) <= MAX_ALLOWED_TOKENS:
        raise refuse(name, value, f"a list of 1 to {MAX_ALLOWED_TOKENS} token ids")
    return tuple(integer(0)(name, item) for item in value)


_ALIASES = {"max_completion_tokens": "max_tokens"}

PARAMETERS: dict[str, Check] = {
    "temperature": number(0, 2),
    "top_k": _top_k,
    "top_p": number(0, 1),
    "min_p": number(0, 1),
    "typical_p": number(0, 1, above=True),
    "logit_bias": _logit_bias,
    "allowed_tokens": _allowed_tokens,
    "repetition_penalty": number(0, 10, above=True),
    "presence_penalty": number(-2, 2),
    "frequency_penalty": number(-2, 2),
    "seed": integer(-INT64, INT64 - 1),
    "max_tokens": integer(1),
    "max_completion_tokens": integer(1),
    "stop": _stop,
    "stop_token_ids": _token_ids,
    "ignore_eos": flag,
    "logprobs": integer(0, MAX_TOP_LOGPROBS),
}
