from django.db import models
from django.db.models import Q

from hone.accounts.models import Project
from hone.common.fields import JsonTextField


class Dataset(models.Model):
    """Named inputs with what is expected of them; `/` in the name makes folders."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="datasets")
    key = models.CharField(max_length=40)  # as clients know it
    name = models.CharField(max_length=255)
    description = models.TextField(blank=True)
    metadata = JsonTextField(null=True)
    input_schema = JsonTextField(null=True)  # JSON Schema that inputs must meet
    output_schema = JsonTextField(null=True)  # the same for what is expected
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="evals_dataset_key"),
            models.UniqueConstraint(fields=["project", "name"], name="evals_dataset_name"),
        ]

    def __str__(self) -> str:
        return self.name


class DatasetItem(models.Model):
    """An item as it was from `valid_from` until `valid_to`; None: as it is now."""

    class Status(models.TextChoices):
        ACTIVE = "ACTIVE"
        ARCHIVED = "ARCHIVED"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="items")
    key = models.TextField()  # as clients know it, one in a project
    status = models.CharField(max_length=8, choices=Status, default=Status.ACTIVE)
    input = JsonTextField(null=True)
    expected_output = JsonTextField(null=True)
    metadata = JsonTextField(null=True)
    source_trace_id = models.TextField(default="")  # hex, softly
    source_observation_id = models.TextField(default="")
    created_at = models.DateTimeField()  # of the item
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "key"], name="evals_item_now", condition=Q(valid_to=None)
            ),
            models.UniqueConstraint(
                fields=["project", "key", "valid_from"], name="evals_item_version"
            ),
        ]
        indexes = [
            models.Index(
                fields=["dataset", "-created_at", "-id"],
                name="evals_item_newest",
                condition=Q(valid_to=None),
            ),
            models.Index(
                fields=["project", "source_trace_id"],
                name="evals_item_source",
                condition=~Q(source_trace_id=""),
            ),
        ]

    def __str__(self) -> str:
        return self.key


class DatasetRun(models.Model):
    """One pass over inputs, of a dataset or of local data: an experiment.

    It is made by its first item, told through the API or by the attributes of a span; both ways
    give it the same key (core.experiment.run_key). The dataset is named softly.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="dataset_runs")
    key = models.TextField()
    dataset_key = models.TextField(default="")
    name = models.TextField()
    description = models.TextField(default="")
    metadata = JsonTextField(null=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="evals_run_key"),
        ]
        indexes = [
            models.Index(fields=["project", "-started_at", "-id"], name="evals_run_newest"),
            models.Index(fields=["project", "dataset_key", "-id"], name="evals_run_dataset"),
        ]

    def __str__(self) -> str:
        return self.name


class DatasetRunItem(models.Model):
    """One execution of one item; the same item may be run several times."""

    run = models.ForeignKey(DatasetRun, on_delete=models.CASCADE, related_name="items")
    key = models.CharField(max_length=40)  # follows from what it names
    item_key = models.TextField()
    trace_id = models.TextField()  # hex
    observation_id = models.TextField(default="")  # hex of the execution's root, softly
    item_version = models.DateTimeField(null=True)
    expected_output = JsonTextField(null=True)  # as the span told it, of local data
    item_metadata = JsonTextField(null=True)
    started_at = models.DateTimeField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "key"], name="evals_run_item_key"),
        ]
        indexes = [
            models.Index(fields=["run", "item_key"], name="evals_run_item_of"),
            models.Index(fields=["trace_id"], name="evals_run_item_trace"),
        ]

    def __str__(self) -> str:
        return f"{self.item_key} in {self.run_id}"
