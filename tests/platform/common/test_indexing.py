"""Indexes built while others write: on a table, on partitions, begun anew, and in a transaction."""

import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.state import ProjectState

from hone.common.indexing import CreateIndex

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "test_indexed_at"


@pytest.fixture
def tables() -> Iterator[None]:
    """`test_plain`, and `test_indexed` with two partitions; some rows in each."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE test_plain (at int)")
        cursor.execute("CREATE TABLE test_indexed (at int) PARTITION BY RANGE (at)")
        for number in (1, 2):
            cursor.execute(
                f"CREATE TABLE test_indexed_{number} PARTITION OF test_indexed"
                f" FOR VALUES FROM ({number}) TO ({number + 1})"
            )
        cursor.execute("INSERT INTO test_indexed VALUES (1), (2)")
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE test_plain, test_indexed")


def build(table: str, *, atomic: bool = False) -> None:
    operation = CreateIndex(NAME, table, "(at) WHERE at IS NOT NULL")
    state = ProjectState()
    with connection.schema_editor(atomic=atomic) as editor:
        operation.database_forwards("prompts", editor, state, state)


def built() -> dict[str, bool]:
    """Name and validity of the indexes of both tables."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexrelid::regclass::text, indisvalid FROM pg_index"
            " WHERE indrelid::regclass::text LIKE ANY (ARRAY['test_indexed%', 'test_plain'])"
        )
        return dict(cursor.fetchall())


WHOLE = {NAME: True, f"{NAME}_1": True, f"{NAME}_2": True}


def test_a_partitioned_table_gets_it_part_by_part_and_so_do_later_parts(tables: None) -> None:
    build("test_indexed")
    assert built() == WHOLE
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE test_indexed_3 PARTITION OF test_indexed FOR VALUES FROM (3) TO (4)"
        )
    assert len(built()) == 4
    assert all(built().values())


def test_a_build_that_was_broken_off_is_begun_anew(tables: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE INDEX {NAME} ON ONLY test_indexed (at) WHERE at IS NOT NULL")
        cursor.execute(f"CREATE INDEX {NAME}_1 ON test_indexed_1 (at) WHERE at IS NOT NULL")
        cursor.execute(f"ALTER INDEX {NAME} ATTACH PARTITION {NAME}_1")
        cursor.execute(f"CREATE INDEX {NAME}_2 ON test_indexed_2 (at)")  # never attached
    assert built()[NAME] is False
    build("test_indexed")
    assert built() == WHOLE


def test_a_plain_table_gets_it_and_goes_back(tables: None) -> None:
    build("test_plain")
    assert built() == {NAME: True}
    operation, state = CreateIndex(NAME, "test_plain", "(at)"), ProjectState()
    with connection.schema_editor(atomic=False) as editor:
        operation.database_backwards("prompts", editor, state, state)
    assert built() == {}


def test_in_a_transaction_it_is_built_plainly(tables: None) -> None:
    with transaction.atomic():
        build("test_indexed")
    assert set(built().values()) == {True}
    assert len(built()) == 3


def test_writers_do_not_wait_for_it(tables: None) -> None:
    """A reader's old snapshot keeps the build from ending; rows are written meanwhile."""
    url = settings.DATABASE_URL.rsplit("/", 1)[0] + f"/{connection.settings_dict['NAME']}"
    with psycopg.connect(url) as reader, psycopg.connect(url, autocommit=True) as writer:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM test_indexed")
        work = threading.Thread(target=_built_elsewhere, args=("test_indexed",), daemon=True)
        work.start()
        try:
            while not writer.execute(
                "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%'"
                " AND wait_event_type = 'Lock' AND datname = current_database()"
            ).fetchone():
                assert work.is_alive()
            writer.execute("SET lock_timeout = '5s'")
            writer.execute("INSERT INTO test_indexed VALUES (1), (2)")
        finally:
            reader.rollback()
            work.join(60)
    assert built() == WHOLE


def _built_elsewhere(table: str) -> None:
    try:
        build(table)
    finally:
        connection.close()
