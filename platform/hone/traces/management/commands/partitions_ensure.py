from typing import Any

from django.core.management.base import BaseCommand

from hone.traces.services import partitions_ensure


class Command(BaseCommand):
    help = "Make the partitions that the coming days' traces need."

    def handle(self, *args: Any, **options: Any) -> None:
        for name in partitions_ensure():
            self.stdout.write(name)
