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
    done_at = models.DateTimeField(null=True)
    trace_count = models.BigIntegerField(default=0)  # deleted so far

    class Meta:
        indexes = [models.Index(fields=["state", "lease_until"], name="traces_erasure_state")]

    def __str__(self) -> str:
        return f"{self.what} {self.project_slug}"
