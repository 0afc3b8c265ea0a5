from django.db import models
from django.db.models import Q

from hone.accounts.models import Project


class Media(models.Model):
    """A file of a project, known by its content: the same bytes are stored once."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="media")
    key = models.CharField(max_length=22)  # first characters of the hash, base64url
    sha256 = models.BinaryField()
    content_type = models.CharField(max_length=255)
    num_bytes = models.BigIntegerField()
    created_at = models.DateTimeField()
    uploaded_at = models.DateTimeField(null=True)  # None: announced, its bytes are not here yet

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="traces_media_key"),
            models.CheckConstraint(condition=Q(num_bytes__gt=0), name="traces_media_size"),
        ]

    def __str__(self) -> str:
        return self.key


class MediaChunk(models.Model):
    """A piece of a file (docs/adr/0018)."""

    media = models.ForeignKey(Media, on_delete=models.CASCADE, related_name="chunks")
    position = models.IntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["media", "position"], name="traces_media_chunk_at"),
        ]

    def __str__(self) -> str:
        return f"{self.media_id}/{self.position}"


class MediaUse(models.Model):
    """Where a file is referred to; one that nothing refers to is deleted."""

    media = models.ForeignKey(Media, on_delete=models.CASCADE, related_name="uses")
    field = models.CharField(max_length=20)  # input | output | metadata | expectedOutput
    trace_id = models.TextField(default="")  # hex, or empty
    observation_id = models.TextField(default="")
    dataset_id = models.TextField(default="")
    dataset_item_id = models.TextField(default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "media",
                    "trace_id",
                    "observation_id",
                    "dataset_id",
                    "dataset_item_id",
                    "field",
                ],
                name="traces_media_use_once",
            ),
        ]
        indexes = [
            models.Index(fields=["trace_id"], name="traces_media_use_trace"),
        ]

    def __str__(self) -> str:
        return f"{self.media_id} in {self.field}"
