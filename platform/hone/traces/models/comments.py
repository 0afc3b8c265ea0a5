from django.db import models
from django.db.models import Q

from hone.accounts.models import Project, User


class Comment(models.Model):
    """A remark about a trace, an observation, a session or a prompt."""

    class Kind(models.TextChoices):
        TRACE = "TRACE"
        OBSERVATION = "OBSERVATION"
        SESSION = "SESSION"
        PROMPT = "PROMPT"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="comments")
    key = models.CharField(max_length=40)
    object_type = models.CharField(max_length=12, choices=Kind)
    object_id = models.TextField()  # hex of a trace or an observation; name or name@version
    trace_id = models.TextField(default="")  # hex, of an observation, where it is known
    content = models.TextField()
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=254)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="traces_comment_key"),
            models.CheckConstraint(
                condition=Q(object_type__in=["TRACE", "OBSERVATION", "SESSION", "PROMPT"]),
                name="traces_comment_kind",
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "object_type", "object_id"], name="traces_comment_object"
            ),
            models.Index(
                fields=["project", "trace_id"],
                name="traces_comment_trace",
                condition=~Q(trace_id=""),
            ),
        ]

    def __str__(self) -> str:
        return self.key
