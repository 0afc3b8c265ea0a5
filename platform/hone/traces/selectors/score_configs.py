"""Score configs, and the rules they set."""

from django.db.models import QuerySet

from hone.common.errors import NotFoundError
from hone.traces.core.scores import Category, Rules
from hone.traces.models import ScoreConfig


def rules_of(config: ScoreConfig) -> Rules:
    """What the config demands of a value."""
    return Rules(
        type=config.type,
        min_value=config.min_value,
        max_value=config.max_value,
        categories=[Category(c["label"], c["value"]) for c in config.categories or []],
        is_archived=config.is_archived,
    )


def score_configs(project_id: int) -> QuerySet[ScoreConfig, ScoreConfig]:
    """The project's configs."""
    return ScoreConfig.objects.filter(project_id=project_id)


def score_config_get(project_id: int, key: str) -> ScoreConfig:
    """One config; raises NotFoundError."""
    found = score_configs(project_id).filter(key=key).first()
    if found is None:
        raise NotFoundError(f"There is no score config {key!r}")
    return found
