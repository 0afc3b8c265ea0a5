"""Where models answer (connections), and batches of inputs for one prompt version (runs)."""

from django.db import models
from django.db.models import Q

from hone.accounts.models import Project
from hone.common.jobs import JobState, LeasedModel


class Kind(models.TextChoices):
    LOCAL = "local"
    REMOTE = "remote"


class EngineState(models.TextChoices):
    STARTING = "starting"
    READY = "ready"


class Connection(models.Model):
    """An OpenAI-compatible address: a project's remote one, or a local engine (of all projects).

    A local engine's row is written by its own process: its address, its model, a heartbeat with
    its counters. Silence means that it is down.
    """

    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, related_name="connections"
    )
    kind = models.CharField(max_length=10, choices=Kind)
    name = models.CharField(max_length=80)
    base_url = models.CharField(max_length=500)
    sealed_api_key = models.TextField(blank=True, default="")
    api_key_hint = models.CharField(max_length=20, blank=True, default="")
    model_names = models.JSONField(default=list)  # as the address takes them
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    # Of a local engine only:
    owner = models.CharField(max_length=120, blank=True, default="")  # host:pid
    state = models.CharField(max_length=10, choices=EngineState, blank=True, default="")
    info = models.JSONField(default=dict)  # device, context_length, counters
    heartbeat_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                name="gateway_connection_name",
                condition=Q(kind="remote"),
            ),
            models.UniqueConstraint(
                fields=["owner"], name="gateway_connection_owner", condition=Q(kind="local")
            ),
            models.CheckConstraint(
                name="gateway_connection_kind",
                condition=Q(kind="remote", project__isnull=False, owner="")
                | Q(kind="local", project__isnull=True) & ~Q(owner=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class BatchRun(models.Model):
    """One prompt version over a list of inputs. The prompt's text is copied: a run is a record."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="runs")
    name = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=JobState, default=JobState.QUEUED)
    prompt_name = models.CharField(max_length=200)
    prompt_version = models.IntegerField()
    prompt_type = models.CharField(max_length=10)
    prompt = models.JSONField()  # text, or a list of messages, with {{variables}}
    model = models.CharField(max_length=200)
    parameters = models.JSONField(default=dict)
    author = models.CharField(max_length=200)
    total = models.IntegerField()
    done = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["project", "-created_at"], name="gateway_run_list")]
        constraints = [
            models.CheckConstraint(
                name="gateway_run_counts",
                condition=Q(done__gte=0, failed__gte=0, total__gt=0)
                & Q(done__lte=models.F("total") - models.F("failed")),
            )
        ]

    def __str__(self) -> str:
        return f"run {self.pk} {self.state}"


class BatchItem(LeasedModel):
    """One input of a run: a job row."""

    run = models.ForeignKey(BatchRun, on_delete=models.CASCADE, related_name="items")
    index = models.IntegerField()
    variables = models.JSONField(default=dict)
    output = models.TextField(null=True)  # noqa: DJ001  (None: no answer yet, "" is an answer)
    error = models.TextField(blank=True, default="")
    trace_id = models.CharField(max_length=32)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["id"], name="gateway_item_queue", condition=Q(state=JobState.QUEUED)
            ),
            models.Index(
                fields=["lease_until"],
                name="gateway_item_lease",
                condition=Q(state=JobState.RUNNING),
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["run", "index"], name="gateway_item_once"),
        ]

    def __str__(self) -> str:
        return f"item {self.index} of run {self.run_id}"
