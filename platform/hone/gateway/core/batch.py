"""Batch runs: ids that a second try gives again, and what a run may ask for."""

import hashlib
from collections.abc import Sequence
from typing import Any

from hone.gateway.core.errors import invalid
from hone.gateway.core.request import PARAMETERS

MAX_ITEMS = 10_000
FOR_RUNS = PARAMETERS - {"stream", "n"}


def item_trace_id(run_id: int, salt: str, index: int) -> str:
    """The trace id of an item, the same at every attempt, so that a trace exists at most once."""
    return hashlib.sha256(f"run:{run_id}:{salt}:{index}".encode()).hexdigest()[:32]


def root_span_id(trace_id: str) -> str:
    """The id of the root span of an item's trace."""
    return hashlib.sha256(f"{trace_id}:root".encode()).hexdigest()[:16]


def parameters_check(parameters: object) -> dict[str, Any]:
    """The model parameters of a run; raises GatewayError (400) for any other."""
    if not isinstance(parameters, dict):
        raise invalid("parameters: want an object", "parameters")
    unknown = sorted(set(parameters) - FOR_RUNS)
    if unknown:
        raise invalid(f"parameters.{unknown[0]}: not a parameter of a run", "parameters")
    return parameters


def inputs_check(inputs: object, wanted: Sequence[str]) -> list[dict[str, str]]:
    """The rows of variables of a run; raises GatewayError (400) naming the row at fault."""
    if not isinstance(inputs, list) or not 1 <= len(inputs) <= MAX_ITEMS:
        raise invalid(f"inputs: want a list of 1 to {MAX_ITEMS} objects", "inputs")
    rows = []
    for index, row in enumerate(inputs):
        if not isinstance(row, dict):
            raise invalid(f"inputs.{index}: want an object of variables", "inputs")
        if missing := [name for name in wanted if name not in row]:
            raise invalid(f"inputs.{index}: the variable {missing[0]!r} is missing", "inputs")
        rows.append({str(name): _text(value, index, name) for name, value in row.items()})
    return rows


def _text(value: object, index: int, name: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    raise invalid(f"inputs.{index}.{name}: want a text", "inputs")
