"""Experiments as spans tell of them, and the keys that every side works out alike."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from hone.evals.core.names import is_key

_PREFIX: Final = "langfuse.experiment."
ID: Final = f"{_PREFIX}id"  # a span that carries it belongs to an experiment


@dataclass(frozen=True, slots=True)
class Noted:
    """What one span says of its run and of its execution."""

    run: str
    run_name: str
    description: str
    run_metadata: str | None  # JSON
    dataset: str
    item: str
    root: str  # the execution's root observation, may be unknown
    item_version: datetime | None
    expected_output: str | None  # JSON
    item_metadata: str | None  # JSON


def run_key(project: str, dataset: str, run_name: str) -> str:
    """The key of a run of a dataset, as clients compute it too."""
    facts = ["langfuse-experiment-v1", project, dataset, run_name]
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def execution_key(run: str, item: str, trace_id: str, observation_id: str) -> str:
    """The key of one execution of an item."""
    text = "\n".join((run, item, trace_id, observation_id))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def noted(attributes: Mapping[str, object]) -> Noted | None:
    """What the attributes of a span tell; None where they name no run and item."""
    run, item = _text(attributes, "id"), _text(attributes, "item.id")
    if not is_key(run) or not is_key(item):
        return None
    dataset = _text(attributes, "dataset.id")
    return Noted(
        run=run,
        run_name=_text(attributes, "name"),
        description=_text(attributes, "description"),
        run_metadata=_json(attributes, "metadata"),
        dataset=dataset if is_key(dataset) else "",
        item=item,
        root=_text(attributes, "item.root_observation_id"),
        item_version=_moment(_text(attributes, "item.version")),
        expected_output=_json(attributes, "item.expected_output"),
        item_metadata=_json(attributes, "item.metadata"),
    )


def _text(attributes: Mapping[str, object], name: str) -> str:
    value = attributes.get(_PREFIX + name)
    return value if isinstance(value, str) else "" if value is None else str(value)


def _json(attributes: Mapping[str, object], name: str) -> str | None:
    """The JSON that the attribute holds; a text that is none becomes a JSON string."""
    value: Any = attributes.get(_PREFIX + name)
    if value is None:
        return None
    if isinstance(value, str):
        try:
            orjson.loads(value)
            return value
        except orjson.JSONDecodeError:
            pass
    return orjson.dumps(value, default=str).decode()


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
