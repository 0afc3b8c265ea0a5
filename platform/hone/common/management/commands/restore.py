"""Read a file of `backup` into the database: all of it, or nothing is changed.

Stop Hone first. The database must be new (without users), or --replace deletes what it holds in
the same transaction. It may be any PostgreSQL of version 15 or newer: the schema is made by the
migrations that the file names, the rows are loaded, and the schema is brought to this version.
When the embedded server's major version moves, the old Hone writes a backup and the new one
restores it into a new data folder. Read only files that you trust: a backup holds the users and
their rights.

Where the file holds a secret key that differs from the present one, it becomes DATA/secret.key
(the old one stays as secret.key.old). Where it holds none and was written under another secret
key, API keys and stored keys of providers do not work until that HONE_SERVER_SECRET is back.
"""

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser
from django.db import OperationalError

from hone.common.archive import restore
from hone.common.archive.read import Restored
from hone.common.errors import HoneError


class Command(BaseCommand):
    help = __doc__ or ""
    requires_system_checks = []  # noqa: RUF012  (Django reads a list)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--replace", action="store_true", help="delete what the database holds")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"].absolute()
        try:
            restored = restore(
                path,
                replace=options["replace"],
                passphrase=os.environ.get("HONE_BACKUP_PASSPHRASE", ""),
                key_file=settings.HONE_DATA_DIR / "secret.key",
                told=self.stdout.write,
            )
        except HoneError as error:
            raise CommandError(error.message) from error
        except OperationalError as error:
            raise CommandError(f"The database does not answer: {error}") from error
        except OSError as error:
            raise CommandError(f"{path} could not be read: {error.strerror}") from error
        num_rows = sum(table.num_rows for table in restored.manifest.tables)
        self.stdout.write(f"Restored {num_rows} rows, written {restored.manifest.created_at}.")
        for line in remarks(restored):
            self.stdout.write(line)


def remarks(restored: Restored) -> list[str]:
    """What is still to do about the secret key."""
    if restored.same_key:
        return []
    if restored.installed_key is not None:
        return [
            f"The secret key of the backup is now {restored.installed_key}; start Hone again. If"
            " HONE_SERVER_SECRET is set by hand, set it to the content of that file."
        ]
    return [
        "The backup was written under another secret key, which is not in it. Until that key is"
        " back (DATA/secret.key or HONE_SERVER_SECRET), API keys are refused and stored keys of"
        " providers cannot be opened."
    ]
