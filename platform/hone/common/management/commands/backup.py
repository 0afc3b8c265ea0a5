"""Write the whole database to one file.

The file is a zip of PostgreSQL's COPY texts, one a table, that any PostgreSQL of version 15 or
newer takes back (see `restore`): it is also the way from one embedded PostgreSQL to the next, and
from the embedded one to a server of your own. It is as it was at one moment, and readable by its
owner only, since it holds all prompts, traces and password hashes.

The secret key (HONE_SERVER_SECRET, DATA/secret.key) is what API keys are checked with and what
opens the stored keys of providers. It is NOT in the file unless you ask: keep it elsewhere, or set
HONE_BACKUP_PASSPHRASE, which puts it in sealed (scrypt, AES-GCM), or say --with-secret-key, which
puts it in as it is: whoever has that file can use the stored keys of providers.
"""

import os
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser
from django.db import OperationalError

from hone.common.archive import backup, secret
from hone.common.errors import HoneError

PASSPHRASE = "HONE_BACKUP_PASSPHRASE"


class Command(BaseCommand):
    help = __doc__ or ""
    requires_system_checks = []  # noqa: RUF012  (Django reads a list)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--force", action="store_true", help="overwrite the file")
        parser.add_argument(
            "--with-secret-key", action="store_true", help="include the secret key unsealed"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        passphrase = os.environ.get(PASSPHRASE, "")
        key = secret.SEALED if passphrase else secret.NONE
        if options["with_secret_key"]:
            key = secret.PLAIN
        path: Path = options["file"].absolute()
        try:
            written = backup(path, key=key, passphrase=passphrase, force=options["force"])
        except HoneError as error:
            raise CommandError(error.message) from error
        except OperationalError as error:
            raise CommandError(f"The database does not answer: {error}") from error
        except OSError as error:
            raise CommandError(f"{path} could not be written: {error.strerror}") from error
        num_rows = sum(table.num_rows for table in written.tables)
        self.stdout.write(
            f"{path}: {len(written.tables)} tables, {num_rows} rows, {path.stat().st_size} bytes"
        )
        if key == secret.NONE:
            self.stdout.write(
                "The secret key is not in it: keep DATA/secret.key (or HONE_SERVER_SECRET) as well,"
                f" or set {PASSPHRASE} to seal it in."
            )
