import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from django.db import connection, transaction

from hone.common import clock
from hone.common.archive import manifest, secret
from hone.common.archive.catalog import partitions, quote, rows, run, sequences, tables
from hone.common.archive.manifest import Manifest, Table
from hone.common.errors import ConflictError


@contextmanager
def _new_file(path: Path, replace: bool) -> Iterator[ZipFile]:
    """A zip that appears at `path` when it is whole, readable by its owner only."""
    if path.exists() and not replace:
        raise ConflictError(f"{path} exists; remove it or say --force")
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        with (
            os.fdopen(descriptor, "w+b") as file,
            ZipFile(file, "w", ZIP_DEFLATED, compresslevel=3) as archive,
        ):
            yield archive
            archive.close()
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _copy_out(archive: ZipFile, name: str, columns: list[str]) -> Table:
    source = f"COPY (SELECT {quote(*columns)} FROM {quote(name)}) TO STDOUT"
    num_rows = 0
    with (
        archive.open(f"tables/{name}.copy", "w", force_zip64=True) as member,
        connection.cursor() as cursor,
        cursor.cursor.copy(source) as copy,
    ):
        for block in copy:
            member.write(block)
            num_rows += bytes(block).count(b"\n")
    return Table(name, columns, num_rows)


def backup(
    path: Path, *, key: str = secret.NONE, passphrase: str = "", force: bool = False
) -> Manifest:
    """Write the whole database, as it is at one moment, to `path`; what was written.

    `key` says whether the secret key goes along: none | plain | sealed (with `passphrase`).
    Raises ConflictError where the file exists, OSError where it cannot be written.
    """
    found = tables()
    with _new_file(path, force) as archive, transaction.atomic(durable=True):
        run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        # Before the moment is fixed: a table that is emptied by TRUNCATE is empty for all moments.
        run(f"LOCK TABLE {quote(*found)} IN ACCESS SHARE MODE")
        secret.put(archive, key, passphrase)
        written = Manifest(
            created_at=clock.now().isoformat(),
            server_version=rows("SHOW server_version")[0][0],
            key_fingerprint=secret.fingerprint(),
            secret_key=key,
            migrations=[
                list(r) for r in rows("SELECT app, name FROM django_migrations ORDER BY id")
            ],
            tables=[_copy_out(archive, name, columns) for name, columns in found.items()],
            partitions=partitions(),
            sequences=sequences(),
        )
        manifest.write(archive, written)
    return written
