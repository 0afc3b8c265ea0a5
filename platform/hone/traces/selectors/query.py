"""Run a query, hand-made or the ORM's, for a limited time."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import OperationalError, connection, transaction
from psycopg import errors

from hone.common.errors import InvalidError

PATIENCE_MS: Final = 8000
Values = Sequence[Any] | Mapping[str, Any]

SHORTER: Final = "choose a shorter time"


@dataclass(slots=True)
class Named:
    """A piece of SQL whose values, given by place (%s), are given by name from now on."""

    sql: str
    given: Sequence[Any]
    values: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.values = {f"given_{place}": value for place, value in enumerate(self.given)}
        first, *rest = self.sql.split("%s")
        places = zip(self.values, rest, strict=True)
        self.sql = first + "".join(f"%({name})s{part}" for name, part in places)


# Compiling a query takes longer than running any of these.
_LIMITED: Final = "SELECT set_config('statement_timeout', %s, true), set_config('jit', 'off', true)"


def fetch(query: str, values: Values) -> list[tuple[Any, ...]]:
    """The rows of a query that an index answers."""
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def fetch_slow(
    query: str, values: Values, *, what: str = "This", narrows: str = SHORTER, field: str = "from"
) -> list[tuple[Any, ...]]:
    """The rows of a query that may have to look at much.

    After PATIENCE_MS raises InvalidError, which says `what` took too long and what `narrows` it.
    """
    with limited(what=what, narrows=narrows, field=field):
        return fetch(query, values)


@contextmanager
def limited(*, what: str = "This", narrows: str = SHORTER, field: str = "from") -> Iterator[None]:
    """Queries in this block, the ORM's too, have PATIENCE_MS each; raises InvalidError after it."""
    is_within = connection.in_atomic_block  # of a transaction that goes on afterwards
    try:
        with transaction.atomic():
            fetch(_LIMITED, [str(PATIENCE_MS)])
            yield
            if is_within:
                fetch("SELECT set_config('statement_timeout', '0', true)", [])
    except OperationalError as error:
        if isinstance(error.__cause__, errors.QueryCanceled):
            raise InvalidError(f"{what} takes too long: {narrows}", field=field) from None
        raise
