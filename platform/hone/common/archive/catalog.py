"""What the database holds: tables, columns, partitions, sequences of the present schema."""

from collections.abc import Iterable
from graphlib import TopologicalSorter
from typing import Any

from django.db import connection

from hone.common.archive.manifest import Partition, Sequence

# Sign-ins are not carried over; the migrations applied stand in the manifest; what tells caches
# that something changed is counted anew by triggers while the rows come in.
LEFT_OUT = ("django_session", "django_migrations", "prompts_change", "prompts_changedname")


def quote(*names: str) -> str:
    """Names as SQL identifiers, with commas between."""
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


def rows(sql: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def run(sql: str, parameters: list[Any] | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def tables() -> dict[str, list[str]]:
    """Each table that holds rows of its own (a partitioned one as a whole) with its columns."""
    found = rows(
        """SELECT c.relname, array_agg(a.attname ORDER BY a.attnum)
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
          AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
        GROUP BY c.relname ORDER BY c.relname"""
    )
    return {name: columns for name, columns in found if name not in LEFT_OUT}


def referenced_first(names: Iterable[str]) -> list[str]:
    """The tables in an order in which rows come after those that they refer to.

    Foreign keys that wait for the end of the transaction do not count, so that they may go round.
    """
    found = rows(
        """SELECT t.relname, r.relname FROM pg_constraint f
        JOIN pg_class t ON t.oid = f.conrelid JOIN pg_class r ON r.oid = f.confrelid
        WHERE f.contype = 'f' AND NOT f.condeferred AND f.conrelid <> f.confrelid
          AND f.connamespace = current_schema()::regnamespace"""
    )
    order: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(sorted(names), ()))
    wanted = set(names)
    for table, referenced in sorted(found):
        if {table, referenced} <= wanted:
            order.add(table, referenced)
    return list(order.static_order())


def partitions() -> list[Partition]:
    """All partitions, parents before children."""
    found = rows(
        """WITH RECURSIVE tree AS (
            SELECT c.oid, c.relname::text COLLATE "C" AS relname, NULL::text COLLATE "C" AS parent,
              0 AS depth, NULL::text COLLATE "C" AS bound
            FROM pg_class c WHERE c.relkind = 'p' AND NOT c.relispartition
              AND c.relnamespace = current_schema()::regnamespace
            UNION ALL
            SELECT c.oid, c.relname::text COLLATE "C", tree.relname, depth + 1,
              pg_get_expr(c.relpartbound, c.oid) COLLATE "C"
            FROM tree JOIN pg_inherits i ON i.inhparent = tree.oid
            JOIN pg_class c ON c.oid = i.inhrelid)
        SELECT relname, parent, bound FROM tree WHERE depth > 0 ORDER BY depth, relname"""
    )
    return [Partition(*row) for row in found]


def sequences() -> list[Sequence]:
    """All sequences with their present values."""
    names = rows(
        "SELECT relname FROM pg_class WHERE relkind = 'S'"
        " AND relnamespace = current_schema()::regnamespace ORDER BY relname"
    )
    return [
        Sequence(name, *rows(f"SELECT last_value, is_called FROM {quote(name)}")[0])
        for (name,) in names
    ]


def is_empty() -> bool:
    """Whether the schema has no table at all, or nobody has signed up yet."""
    names = {
        name
        for (name,) in rows("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    }
    if not names:
        return True
    return "accounts_user" in names and not rows("SELECT 1 FROM accounts_user LIMIT 1")
