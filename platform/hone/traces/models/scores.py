from django.db import models
from django.db.models import Q

from hone.accounts.models import Project, User
from hone.common.fields import JsonTextField
from hone.traces.core.scores import SOURCES, TYPES


class ScoreConfig(models.Model):
    """What scores of one name may say; archived rather than deleted."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="score_configs")
    key = models.CharField(max_length=40)  # as clients know it
    name = models.CharField(max_length=200)
    type = models.CharField(max_length=12, choices=[(t, t) for t in TYPES])
    description = models.TextField(blank=True)
    min_value = models.FloatField(null=True)
    max_value = models.FloatField(null=True)
    categories = JsonTextField(null=True)  # [{"label", "value"}] of a categorical one
    is_archived = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="traces_score_config_key"),
            models.CheckConstraint(
                condition=Q(type__in=TYPES) & ~Q(type="CORRECTION"), name="traces_score_config_type"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Score(models.Model):
    """A judgment of a trace, an observation, a session or a run.

    `number` holds a NUMERIC value, 0 or 1 of a BOOLEAN one, and what a config gives a category;
    `text` holds a category, a text or a correction.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="scores")
    key = models.TextField()  # the id that clients know
    trace_id = models.TextField(default="")  # hex, as the traces have it
    observation_id = models.TextField(default="")  # hex; never without a trace
    session_id = models.TextField(default="")
    run_id = models.TextField(default="")  # of a dataset run, that is an experiment
    name = models.TextField()
    type = models.CharField(max_length=12)
    source = models.CharField(max_length=12)
    number = models.FloatField(null=True)
    text = models.TextField(default="")
    comment = models.TextField(default="")
    metadata = JsonTextField(null=True)
    environment = models.TextField(default="default")
    config = models.ForeignKey(ScoreConfig, on_delete=models.SET_NULL, null=True, related_name="+")
    queue_id = models.TextField(default="")
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=254, blank=True)
    timestamp = models.DateTimeField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()  # when what stands was said; an older word changes nothing

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="traces_score_key"),
            models.CheckConstraint(
                condition=~Q(trace_id="") & Q(session_id="", run_id="")
                | ~Q(session_id="") & Q(trace_id="", observation_id="", run_id="")
                | ~Q(run_id="") & Q(trace_id="", observation_id="", session_id=""),
                name="traces_score_target",
            ),
            models.CheckConstraint(
                condition=Q(type__in=["NUMERIC", "BOOLEAN"], number__isnull=False)
                | Q(type__in=["CATEGORICAL", "TEXT"]) & ~Q(text="")
                | Q(type="CORRECTION"),
                name="traces_score_value",
            ),
            models.CheckConstraint(
                condition=Q(source__in=SOURCES, type__in=TYPES), name="traces_score_kinds"
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "trace_id"],
                name="traces_score_trace",
                condition=~Q(trace_id=""),
            ),
            models.Index(
                fields=["project", "session_id"],
                name="traces_score_session",
                condition=~Q(session_id=""),
            ),
            models.Index(
                fields=["project", "run_id"],
                name="traces_score_run",
                condition=~Q(run_id=""),
            ),
            models.Index(fields=["project", "-timestamp", "-id"], name="traces_score_newest"),
            models.Index(fields=["project", "name", "-timestamp"], name="traces_score_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.key}"
