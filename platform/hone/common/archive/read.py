import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import psycopg
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.migration import Migration

from hone.common.archive import manifest, secret
from hone.common.archive.catalog import (
    is_empty,
    partitions,
    quote,
    referenced_first,
    rows,
    run,
    tables,
)
from hone.common.archive.manifest import Manifest, Partition, Table
from hone.common.errors import ConflictError, InvalidError

BOUND = re.compile(r"(FOR VALUES (FROM|IN|WITH) [^;]+|DEFAULT)\Z")
BLOCK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Restored:
    manifest: Manifest
    same_key: bool  # the archive was written under the secret key of this process
    installed_key: Path | None  # where the archive's secret key was put


def restore(
    path: Path,
    *,
    replace: bool = False,
    passphrase: str = "",
    key_file: Path | None = None,
    told: Callable[[str], None] = lambda text: None,
) -> Restored:
    """Read the archive into the database: all of it, or nothing is changed.

    A database that is in use (it has users) is refused unless `replace`. The archive's secret key,
    if it holds one that differs from the present, goes to `key_file`. Raises InvalidError for an
    archive that cannot be read, ConflictError for a database that is in use.
    """
    try:
        with ZipFile(path) as archive:
            content = manifest.read(archive)
            key = _key(archive, content, passphrase)
            with transaction.atomic(durable=True):
                _clear(replace)
                _load(archive, content, told)
    except BadZipFile as error:
        raise InvalidError(f"{path} is no whole archive: {error}") from None
    told("bringing the schema to this version")
    call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
    same = content.key_fingerprint == secret.fingerprint()
    installed = None
    if key is not None and not same and key_file is not None:
        secret.install(key, key_file)
        installed = key_file
    return Restored(content, same, installed)


def _key(archive: ZipFile, content: Manifest, passphrase: str) -> str | None:
    if content.secret_key == secret.NONE or content.key_fingerprint == secret.fingerprint():
        return None
    return secret.get(archive, content.secret_key, passphrase)


def _clear(replace: bool) -> None:
    if not is_empty() and not replace:
        raise ConflictError("The database is in use; --replace deletes what it holds")
    # With the schema go tables, partitions, functions and sequences at once.
    ((schema,),) = rows("SELECT current_schema()")
    run(f"DROP SCHEMA {quote(schema)} CASCADE")
    run(f"CREATE SCHEMA {quote(schema)}")


def _load(archive: ZipFile, content: Manifest, told: Callable[[str], None]) -> None:
    _migrate_to(content)
    _check_tables(content)
    run(f"TRUNCATE {quote(*tables())} CASCADE")  # migrations may have written rows
    _make_partitions(content.partitions)
    by_name = {table.name: table for table in content.tables}
    for table in map(by_name.__getitem__, referenced_first(list(by_name))):
        if table.num_rows:
            told(f"{table.name}: {table.num_rows} rows")
        _copy_in(archive, table)
    for sequence in content.sequences:
        run(
            "SELECT setval(%s::regclass, %s, %s)",
            [quote(sequence.name), sequence.latest_value, sequence.is_called],
        )
    try:
        run("SET CONSTRAINTS ALL IMMEDIATE")  # foreign keys are checked here
    except IntegrityError as error:
        raise InvalidError(f"The archive's rows do not fit together: {error}") from error


def _migrate_to(content: Manifest) -> None:
    """Apply exactly the migrations that the archive was written under."""
    executor = MigrationExecutor(connection)
    wanted = {(app, name) for app, name in content.migrations}
    if unknown := sorted(wanted - executor.loader.graph.nodes.keys()):
        raise InvalidError(
            f"The archive comes from a newer Hone: it knows {unknown[0][0]}.{unknown[0][1]}"
        )
    executor.loader.check_consistent_history(connection)
    executor.migrate(sorted(wanted), plan=[(m, False) for m in _plan(executor, wanted)])


def _plan(executor: MigrationExecutor, wanted: set[tuple[str, str]]) -> list[Migration]:
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [migration for migration, _ in plan if (migration.app_label, migration.name) in wanted]


def _check_tables(content: Manifest) -> None:
    here = tables()
    for table in content.tables:
        if missing := set(table.columns) - set(here.get(table.name, ())):
            raise InvalidError(f"The archive has {table.name}.{min(missing)}, the schema has not")


def _make_partitions(wanted: list[Partition]) -> None:
    names = {partition.name for partition in wanted}
    for present in partitions():
        if present.name not in names:
            run(f"DROP TABLE IF EXISTS {quote(present.name)} CASCADE")
    here = {partition.name for partition in partitions()}
    for partition in wanted:
        if not BOUND.match(partition.bound):
            raise InvalidError(f"The archive's partition {partition.name} has no readable bound")
        if partition.name not in here:
            run(
                f"CREATE TABLE {quote(partition.name)} PARTITION OF {quote(partition.parent)}"
                f" {partition.bound}"
            )


def _copy_in(archive: ZipFile, table: Table) -> None:
    target = f"COPY {quote(table.name)} ({quote(*table.columns)}) FROM STDIN"
    try:
        with (
            archive.open(f"tables/{table.name}.copy") as member,
            connection.cursor() as cursor,
        ):
            with cursor.cursor.copy(target) as copy:
                while block := member.read(BLOCK_BYTES):
                    copy.write(block)
            num_rows = cursor.rowcount
    except KeyError:
        raise InvalidError(f"The archive is incomplete: {table.name} is missing") from None
    except psycopg.Error as error:
        raise InvalidError(f"{table.name} does not take its rows: {error}") from error
    if num_rows != table.num_rows:
        raise InvalidError(f"{table.name}: got {num_rows} rows, the manifest has {table.num_rows}")
