"""What a score may say: its type from its value, and its value against a config."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from hone.common.errors import InvalidError

TYPES: Final = ["NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION"]
CONFIG_TYPES: Final = TYPES[:4]  # a correction has no config
SOURCES: Final = ["API", "EVAL", "ANNOTATION"]
MAX_NAME_LEN: Final = 500
MAX_TEXT_LEN: Final = 500  # of a TEXT score
MAX_LONG_LEN: Final = 100_000  # of a category, a correction, a comment
MAX_ID_BYTES: Final = 2000  # what an index of the database takes, with room to spare


@dataclass(frozen=True, slots=True)
class Category:
    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Rules:
    """A config as far as it decides values."""

    type: str
    min_value: float | None = None
    max_value: float | None = None
    categories: Sequence[Category] = ()
    is_archived: bool = False


@dataclass(frozen=True, slots=True)
class ScoreValue:
    type: str
    number: float | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreWrite:
    """A score as a caller says it; the target is exactly one of trace, session and run."""

    name: str
    value: object
    key: str | None = None  # None: a new one
    type: str | None = None  # None: told from the config, else from the value
    trace_id: str | None = None
    observation_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    source: str = "API"
    comment: str | None = None
    metadata: Any = None
    environment: str | None = None
    config: str | None = None
    queue_id: str | None = None
    timestamp: datetime | None = None
    said_at: datetime | None = None  # orders several writes of one score; None: now


def score_value(value: object, kind: str | None, rules: Rules | None = None) -> ScoreValue:
    """The value of a score of the given type (None: told from rules or value) under `rules`.

    Raises InvalidError.
    """
    wanted = kind or (rules.type if rules else _guess(value))
    if wanted not in TYPES:
        raise InvalidError(
            f"dataType: got {wanted!r}, want one of {', '.join(TYPES)}", field="type"
        )
    if rules and rules.type != wanted:
        raise InvalidError(f"dataType: got {wanted}, the config wants {rules.type}", field="type")
    if wanted == "NUMERIC":
        return ScoreValue(wanted, number=_in_range(_number(value), rules))
    if wanted == "BOOLEAN":
        return ScoreValue(wanted, number=_truth(value))
    if wanted == "CATEGORICAL":
        return _category(value, rules)
    limit = MAX_TEXT_LEN if wanted == "TEXT" else MAX_LONG_LEN
    return ScoreValue(wanted, text=_text(value, limit, empty_too=wanted == "CORRECTION"))


def target_check(write: ScoreWrite) -> None:
    """Raise InvalidError unless the score is about exactly one thing."""
    given = [write.trace_id, write.session_id, write.run_id]
    if sum(bool(one) for one in given) != 1:
        raise InvalidError("A score is about one of traceId, sessionId and datasetRunId")
    if write.observation_id and not write.trace_id:
        raise InvalidError("observationId: wants its traceId beside it", field="observation_id")
    if not 1 <= len(write.name) <= MAX_NAME_LEN:  # at most 2000 bytes
        raise InvalidError(f"name: want 1 to {MAX_NAME_LEN} characters", field="name")
    if write.source not in SOURCES:
        raise InvalidError(
            f"source: got {write.source!r}, want one of {', '.join(SOURCES)}", field="source"
        )
    if write.source == "ANNOTATION" and not write.config and write.type != "CORRECTION":
        raise InvalidError("configId: an annotation needs one", field="config")
    for text in (write.key, *given, write.observation_id):
        id_check(text or "")
    if write.comment and len(write.comment) > MAX_LONG_LEN:
        raise InvalidError(f"comment: at most {MAX_LONG_LEN} characters", field="comment")


def id_check(text: str) -> None:
    """Raise InvalidError for an id that is longer than an index takes."""
    num_bytes = len(text.encode("utf-8", "surrogatepass"))
    if num_bytes > MAX_ID_BYTES:
        raise InvalidError(f"An id has {num_bytes} bytes, at most {MAX_ID_BYTES} are taken")


def rules_check(rules: Rules) -> None:
    """Raise InvalidError for a config that contradicts itself."""
    if rules.type not in TYPES or rules.type == "CORRECTION":
        raise InvalidError(f"dataType: got {rules.type!r}, want one of {', '.join(TYPES[:4])}")
    low, high = rules.min_value, rules.max_value
    if (low is not None or high is not None) and rules.type != "NUMERIC":
        raise InvalidError("minValue and maxValue belong to NUMERIC configs", field="min_value")
    if low is not None and high is not None and low >= high:
        raise InvalidError(
            f"maxValue: got {high}, want more than minValue {low}", field="max_value"
        )
    if (rules.type == "CATEGORICAL") != bool(rules.categories):
        raise InvalidError(
            "categories: CATEGORICAL configs want them, others none", field="categories"
        )
    for what in ("label", "value"):
        values = [getattr(category, what) for category in rules.categories]
        if len(set(values)) != len(values):
            raise InvalidError(f"categories: a {what} stands there twice", field="categories")


def _guess(value: object) -> str:
    return "CATEGORICAL" if isinstance(value, str) else "NUMERIC"


def _number(value: object) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidError(f"value: got {str(value)[:40]!r}, want a finite number", field="value")
    return float(value)


def _truth(value: object) -> float:
    if not isinstance(value, int | float) or value not in (0, 1):
        raise InvalidError(f"value: got {str(value)[:40]!r}, want 0 or 1", field="value")
    return float(value)


def _in_range(number: float, rules: Rules | None) -> float:
    if rules and rules.min_value is not None and number < rules.min_value:
        raise InvalidError(f"value: got {number}, want at least {rules.min_value}", field="value")
    if rules and rules.max_value is not None and number > rules.max_value:
        raise InvalidError(f"value: got {number}, want at most {rules.max_value}", field="value")
    return number


def _text(value: object, limit: int, *, empty_too: bool = False) -> str:
    if not isinstance(value, str) or len(value) > limit or not (value or empty_too):
        raise InvalidError(f"value: want a text of 1 to {limit} characters", field="value")
    return value


def _category(value: object, rules: Rules | None) -> ScoreValue:
    label = _text(value, MAX_LONG_LEN)
    if rules is None:
        return ScoreValue("CATEGORICAL", text=label)
    for category in rules.categories:
        if category.label == label:
            return ScoreValue("CATEGORICAL", number=category.value, text=label)
    labels = ", ".join(category.label for category in rules.categories)
    raise InvalidError(f"value: got {label[:40]!r}, want one of {labels}", field="value")
