"""Indexes built by migrations while others write."""

from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import RunSQL

_PARTITIONS = """
SELECT c.relname, i.indexrelid IS NOT NULL FROM pg_inherits h
JOIN pg_class c ON c.oid = h.inhrelid
LEFT JOIN (pg_index i JOIN pg_inherits a ON a.inhrelid = i.indexrelid
           AND a.inhparent = to_regclass(%s)) ON i.indrelid = c.oid
WHERE h.inhparent = to_regclass(%s) ORDER BY c.relname
"""


class CreateIndex(RunSQL):
    """`CREATE INDEX name ON table definition` that keeps no writer waiting.

    For a migration with `atomic = False`: the index is built concurrently, that of a partitioned
    table for one partition after the other, and a build that was broken off is begun anew. Inside
    of a transaction, as when a backup is restored into a database without rows, it is built
    plainly.
    """

    def __init__(self, name: str, table: str, definition: str) -> None:
        self.name, self.table, self.definition = name, table, definition
        super().__init__(f"CREATE INDEX {name} ON {table} {definition}", f"DROP INDEX {name}")

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        kwargs = {"name": self.name, "table": self.table, "definition": self.definition}
        return self.__class__.__qualname__, [], kwargs

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: Any,
        to_state: Any,
    ) -> None:
        connection = schema_editor.connection
        if connection.in_atomic_block:
            return super().database_forwards(app_label, schema_editor, from_state, to_state)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(%s)", [self.table]
            )
            [is_partitioned] = cursor.fetchone()
            if not is_partitioned:
                self._build(cursor, self.name, self.table)
                return None
            # Partitions that come from now on have it; it is valid once all that were there do.
            cursor.execute(
                f"CREATE INDEX IF NOT EXISTS {self.name} ON ONLY {self.table} {self.definition}"
            )
            cursor.execute(_PARTITIONS, [self.name, self.table])
            for partition, has_it in cursor.fetchall():
                if not has_it:
                    part = self.name + partition.removeprefix(self.table)
                    self._build(cursor, part, partition)
                    cursor.execute(f"ALTER INDEX {self.name} ATTACH PARTITION {part}")
        return None

    def _build(self, cursor: Any, name: str, table: str) -> None:
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        cursor.execute(f"CREATE INDEX CONCURRENTLY {name} ON {table} {self.definition}")
