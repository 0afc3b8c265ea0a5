from django.db import models

from hone.accounts.models import Project, User


class SavedView(models.Model):
    """Filters, range and columns of a list page under a name: its owner's, or everybody's."""

    class Page(models.TextChoices):
        TRACES = "traces"
        OBSERVATIONS = "observations"
        SESSIONS = "sessions"
        USERS = "users"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="saved_views")
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    page = models.CharField(max_length=12, choices=Page)
    name = models.CharField(max_length=100)
    search = models.TextField(blank=True)  # what stands behind ? in the page's address
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "owner", "page", "name"], name="traces_savedview_name"
            ),
        ]

    def __str__(self) -> str:
        return self.name
