"""Bring the database to this version and make the first account."""

import os
from typing import Any

import orjson
from django.core.management import BaseCommand, call_command

from hone.accounts.services import bootstrap

DEFAULT_EMAIL = "demo@hone.local"


class Command(BaseCommand):
    """Migrates; where there is no user yet, makes one with an organization, project and API key.

    HONE_BOOTSTRAP_EMAIL and HONE_BOOTSTRAP_PASSWORD name the user; a missing password is made up.
    Prints one line of JSON, with the secrets only in the run that made them.
    """

    help = __doc__ or ""
    requires_system_checks = []  # noqa: RUF012  (Django reads a list)

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
        made = bootstrap(
            email=os.environ.get("HONE_BOOTSTRAP_EMAIL") or DEFAULT_EMAIL,
            password=os.environ.get("HONE_BOOTSTRAP_PASSWORD") or None,
        )
        self.stdout.write(orjson.dumps(made).decode())
