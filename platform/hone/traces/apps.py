from typing import Any

from django.apps import AppConfig
from django.db import connection
from django.db.models.signals import post_migrate
from django.utils.module_loading import import_string


class TracesConfig(AppConfig):
    name = "hone.traces"
    label = "traces"

    def ready(self) -> None:
        post_migrate.connect(partitions_follow, sender=self)


def partitions_follow(**_: Any) -> None:
    """A database that is migrated can take spans."""
    if "traces_observation" in connection.introspection.table_names():
        import_string("hone.traces.services.partitions_ensure")()
