"""Run a hand-made query, for a limited time."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import OperationalError, connection, transaction
from psycopg import errors

from hone.common.errors import InvalidError

PATIENCE_MS: Final = 8000
Values = Sequence[Any] | Mapping[str, Any]

# Compiling a query takes longer than running any of these.
_LIMITED: Final = "SELECT set_config('statement_timeout', %s, true), set_config('jit', 'off', true)"


def fetch(query: str, values: Values) -> list[tuple[Any, ...]]:
    """The rows of a query that an index answers."""
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def fetch_slow(query: str, values: Values) -> list[tuple[Any, ...]]:
    """The rows of a query that may have to look at much; raises InvalidError after PATIENCE_MS."""
    is_within = connection.in_atomic_block  # of a transaction that goes on afterwards
    try:
        with transaction.atomic():
            fetch(_LIMITED, [str(PATIENCE_MS)])
            rows = fetch(query, values)
            if is_within:
                fetch("SELECT set_config('statement_timeout', '0', true)", [])
            return rows
    except OperationalError as error:
        if isinstance(error.__cause__, errors.QueryCanceled):
            raise InvalidError("This takes too long: choose a shorter time", field="from") from None
        raise
