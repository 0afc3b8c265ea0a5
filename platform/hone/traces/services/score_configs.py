"""Score configs made and changed; what was scored under one stays as it is."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from hone.common import clock
from hone.common.errors import InvalidError
from hone.traces.core.scores import MAX_LONG_LEN, MAX_NAME_LEN, Rules, rules_check
from hone.traces.models import ScoreConfig
from hone.traces.selectors.score_configs import rules_of, score_config_get

_CHANGEABLE = {"name", "description", "min_value", "max_value", "categories", "is_archived"}
_TRUTH = [{"label": "True", "value": 1}, {"label": "False", "value": 0}]
_NAME_LEN = min(MAX_NAME_LEN, 200)


def score_config_create(
    *,
    project_id: int,
    name: str,
    type: str,
    description: str = "",
    min_value: float | None = None,
    max_value: float | None = None,
    categories: Sequence[dict[str, Any]] | None = None,
) -> ScoreConfig:
    """A new config; raises InvalidError for one that contradicts itself."""
    if type == "BOOLEAN" and categories == _TRUTH:
        categories = None  # some clients say what is understood
    now = clock.now()
    config = ScoreConfig(
        project_id=project_id,
        key=uuid.uuid4().hex,
        name=name.strip(),
        type=type,
        description=description,
        min_value=min_value,
        max_value=max_value,
        categories=_categories(categories),
        created_at=now,
        updated_at=now,
    )
    _check(config, rules_of(config))
    config.save()
    return config


@transaction.atomic
def score_config_update(*, project_id: int, key: str, **changes: Any) -> ScoreConfig:
    """Change what is given; raises NotFoundError, InvalidError."""
    assert changes.keys() <= _CHANGEABLE, changes.keys()
    config = score_config_get(project_id, key)
    if "categories" in changes:
        changes["categories"] = _categories(changes["categories"])
    for field, value in changes.items():
        setattr(config, field, value)
    _check(config, rules_of(config))
    config.updated_at = clock.now()
    config.save()
    return config


def _categories(given: Sequence[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """The categories as stored; raises InvalidError."""
    if not given:
        return None
    made = []
    for one in given:
        label, value = one.get("label"), one.get("value")
        if not isinstance(label, str) or not label or not isinstance(value, int | float):
            raise InvalidError("categories: want label and value (a number)", field="categories")
        made.append({"label": label, "value": value})
    return made


def _check(config: ScoreConfig, rules: Rules) -> None:
    if not 1 <= len(config.name) <= _NAME_LEN:
        raise InvalidError(f"name: want 1 to {_NAME_LEN} characters", field="name")
    if len(config.description) > MAX_LONG_LEN:
        raise InvalidError(f"description: at most {MAX_LONG_LEN} characters", field="description")
    rules_check(rules)
