from django.db import models


class EventCounter(models.Model):
    """The latest sequence number of a project's events; its row lock orders the writers."""

    project_id = models.BigIntegerField(primary_key=True)
    seq = models.BigIntegerField()

    class Meta:
        db_table = "common_event_counter"

    def __str__(self) -> str:
        return f"{self.project_id}: {self.seq}"


class Event(models.Model):
    """Something that must reach every listener; kept until it is old (see `events.prune`)."""

    project_id = models.BigIntegerField()
    seq = models.BigIntegerField()
    kind = models.CharField(max_length=80)
    payload = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "common_event"
        constraints = [
            models.UniqueConstraint(fields=["project_id", "seq"], name="common_event_seq"),
        ]
        indexes = [models.Index(fields=["created_at"], name="common_event_created")]

    def __str__(self) -> str:
        return f"{self.kind} {self.project_id}/{self.seq}"
