"""Inputs and expectations held against a dataset's JSON Schemas."""

from functools import lru_cache
from typing import Any, Final

import orjson
from django.utils.module_loading import import_string

from hone.common.errors import InvalidError

MAX_BYTES: Final = 100_000


def schema_check(schema: Any, field: str) -> None:
    """Raise InvalidError unless this is a JSON Schema (or None)."""
    if schema is None:
        return
    if not isinstance(schema, dict):
        raise InvalidError(f"{field}: want a JSON Schema, an object", field=field)
    text = orjson.dumps(schema)
    if len(text) > MAX_BYTES:
        raise InvalidError(f"{field}: {len(text)} bytes, at most {MAX_BYTES}", field=field)
    try:
        import_string("jsonschema.validators.validator_for")(schema).check_schema(schema)
    except import_string("jsonschema.exceptions.SchemaError") as error:
        raise InvalidError(f"{field}: {error.message[:300]}", field=field) from None


def value_check(schema: Any, value: Any, field: str) -> None:
    """Raise InvalidError where the value does not meet the schema; None demands nothing."""
    if schema is None:
        return
    try:
        problem = next(_validator(orjson.dumps(schema)).iter_errors(value), None)
    except import_string("referencing.exceptions.Unresolvable"):
        raise InvalidError(f"{field}: its schema refers to another, which is not read") from None
    if problem is not None:
        where = "/".join(str(part) for part in problem.absolute_path)
        raise InvalidError(
            f"{field}{where and f' at {where}'}: {problem.message[:300]}", field=field
        )


@lru_cache(maxsize=64)
def _validator(schema: bytes) -> Any:
    """The package is loaded at first use: few processes need it.

    The registry is empty, so that a reference never makes this server fetch an address.
    """
    given = orjson.loads(schema)
    kind = import_string("jsonschema.validators.validator_for")(given)
    return kind(given, registry=import_string("referencing.Registry")())
