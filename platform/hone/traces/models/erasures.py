from django.db import models

from hone.accounts.models import Organization, Project, User
from hone.common.jobs import LeasedModel


class Erasure(LeasedModel):
    """What is to be deleted for good, by whose wish, and when it was done.

    It outlives the project that it may delete; its organization's admins go on seeing it.
    """

    class What(models.TextChoices):
        USER = "user"  # all traces with a span of that user
        TRACES = "traces"  # all traces of the project
        PROJECT = "project"  # the project with all that is in it
        RETENTION = "retention"  # traces that are older than the project keeps them

    key = models.CharField(max_length=40, unique=True)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+")
    project = models.ForeignKey(
        Project, on_delete=models.SET_NULL, null=True, related_name="erasures"
    )
    project_slug = models.CharField(max_length=50)
    what = models.CharField(max_length=10, choices=What)
    user_id = models.TextField(blank=True)  # of traces, not one of ours
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=254)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    trace_count = models.BigIntegerField(default=0)  # deleted so far
    trace_total = models.BigIntegerField(null=True)  # there were when it started
    until_seq = models.BigIntegerField(null=True)  # traces that began after this change stay
    before = models.DateTimeField(null=True)  # of `retention`: traces that ended earlier go

    class Meta:
        indexes = [models.Index(fields=["state", "lease_until"], name="traces_erasure_state")]
        constraints = [
            models.UniqueConstraint(
                fields=["project"],
                condition=models.Q(what="retention"),
                name="traces_erasure_retention",
            )
        ]

    def __str__(self) -> str:
        return f"{self.what} {self.project_slug}"


class Retention(models.Model):
    """For how many days a project keeps its traces; without a row for ever."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="retention")
    days = models.PositiveIntegerField()
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=254)
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(days__gte=1), name="traces_retention_days")
        ]

    def __str__(self) -> str:
        return f"{self.days} days"
