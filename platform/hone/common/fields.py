"""A model field for JSON that people wrote: kept as text, so that the order of keys survives."""

from typing import Any

import orjson
from django.db import models


class JsonTextField(models.TextField):  # type: ignore[type-arg]
    """Any JSON value in a text column; None is NULL.

    `jsonb` would sort the keys of what somebody typed and round its numbers.
    """

    _pyi_private_set_type: Any  # for the type checker
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, *_: Any) -> Any:
        return None if value is None else orjson.loads(value)

    def to_python(self, value: Any) -> Any:
        return value

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else orjson.dumps(value).decode()
