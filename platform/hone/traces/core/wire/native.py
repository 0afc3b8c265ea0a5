"""The only module that touches the extension; it does without where it was not built."""

import importlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Protocol

from hone.traces.core.preview import preview
from hone.traces.core.summary import MAX_SET, Summary
from hone.traces.core.wire.spec import rules, spec_of

try:
    _wire: Any = importlib.import_module("hone.traces.core.wire._wire")
except ImportError:
    _wire = None


# Attributes that are not known hide models that are not; a third time nobody is asked any more.
_ROUNDS: Final = (True, True, False)


class Encoded(Protocol):
    """Rows in the binary form of COPY, without the number of their transaction."""

    @property
    def num_bytes(self) -> int: ...
    def __len__(self) -> int: ...
    def encoded(self) -> list[bytes]: ...
    def span_ids(self) -> bytes: ...


class Rates(Protocol):
    """What the extension has been told of prices."""

    def put(
        self, model: str, flat_up_to: int, since_ns: int, units: Mapping[str, int], /
    ) -> None: ...


class Prices(Protocol):
    """Prices of a project, asked once a model."""

    @property
    def native(self) -> Rates | None: ...
    def teach(self, model: str) -> None: ...


Decoded = tuple[list[tuple[bytes, Encoded, Summary]], bytes]


def is_built() -> bool:
    """Whether the extension is there."""
    return _wire is not None


def rates_new() -> Rates:
    """An empty table of prices for the extension."""
    table: Rates = _wire.RateTable()
    return table


def copy_data(rows: Sequence[Encoded], seq: int) -> bytes:
    """All of a binary COPY for these rows."""
    data: bytes = _wire.copy_data(rows, seq)
    return data


def parts_decode(
    body: bytes,
    project_id: int,
    prices: Prices,
    now_ns: int,
    window_us: tuple[int, int],
    left: Collection[str] = (),
) -> Decoded | None:
    """Trace ids with their encoded rows and summaries, and an export of what is left.

    None where the body as a whole is the reference's. `window_us`: starts that are taken. `left`:
    attributes whose spans are the reference's, the same in every call of a process.
    """
    for asks in _ROUNDS:
        found = _decoder().decode(body, project_id, prices.native, now_ns, window_us, asks)
        if found is None:
            return None
        parts, rest, names, models = found
        if not names and not models:
            break
        _learn(names, models, prices, left)
    return [(part[0], part[1], _summary(*part[2:])) for part in parts], rest


def _learn(
    names: Iterable[Sequence[str]], models: Iterable[str], prices: Prices, left: Collection[str]
) -> None:
    """Tell the extension of sets of attributes and of models that it does not know."""
    _decoder().learn([(found, spec_of(found, left)) for found in names])
    for model in models:
        prices.teach(model)


_made: list[Any] = []


def _decoder() -> Any:
    if not _made:
        _made.append(_wire.Decoder(rules()))
    return _made[0]


def _summary(*found: Any) -> Summary:
    """The summary whose fields come in their order; previews are still to be made."""
    *head, asked, answered, user, session, environment, release, version = found[:12]
    models, tags, prompts, *numbers, cost, unpriced = found[12:]
    fields: list[Any] = [
        *head,
        asked and (asked[0], preview(asked[1], of_input=True)),
        answered and (answered[0], preview(answered[1], of_input=False)),
        *(user, session, environment, release, version),
        *(_few(models), _few(tags), _few(prompts)),
        *(*numbers, None if cost is None else Decimal(cost), unpriced),
    ]
    return Summary(*fields)


def _few(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)[:MAX_SET]
