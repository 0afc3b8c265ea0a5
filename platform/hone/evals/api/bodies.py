"""Bodies of datasets, items and runs."""

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hone.common.schema import Body
from hone.evals.models import DatasetItem
from hone.traces.api.said_bodies import ScoreBody, ScoreMeanBody

STATUSES = DatasetItem.Status.values


@extend_schema_field({"type": "object", "additionalProperties": True, "nullable": True})
class SchemaField(serializers.JSONField):
    """A JSON Schema, or null."""


@extend_schema_field({})
class AnyField(serializers.JSONField):
    """Any JSON value."""


class DatasetBody(Body):
    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    metadata = AnyField(allow_null=True)
    input_schema = SchemaField(allow_null=True)
    output_schema = SchemaField(allow_null=True)
    item_count = serializers.IntegerField(help_text="Active ones")
    run_count = serializers.IntegerField()
    latest_run_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class DatasetUpdate(Body):
    name = serializers.CharField(max_length=255, required=False, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True)
    metadata = AnyField(required=False, allow_null=True)
    input_schema = SchemaField(required=False, allow_null=True)
    output_schema = SchemaField(required=False, allow_null=True)


class DatasetCreate(Body):
    name = serializers.CharField(max_length=255, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True)
    metadata = AnyField(required=False, allow_null=True)
    input_schema = SchemaField(required=False, allow_null=True)
    output_schema = SchemaField(required=False, allow_null=True)


class DatasetItemBody(Body):
    id = serializers.CharField()
    status = serializers.ChoiceField(choices=STATUSES)
    input = AnyField(allow_null=True)
    expected_output = AnyField(allow_null=True)
    metadata = AnyField(allow_null=True)
    source_trace_id = serializers.CharField(allow_null=True)
    source_observation_id = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class DatasetItemUpdate(Body):
    status = serializers.ChoiceField(choices=STATUSES, required=False)
    input = AnyField(required=False, allow_null=True)
    expected_output = AnyField(required=False, allow_null=True)
    metadata = AnyField(required=False, allow_null=True)


class DatasetItemCreate(DatasetItemUpdate):
    id = serializers.CharField(max_length=800, required=False, trim_whitespace=False)
    source_trace_id = serializers.CharField(max_length=800, required=False)
    source_observation_id = serializers.CharField(max_length=800, required=False)


class DatasetRunBody(Body):
    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    metadata = AnyField(allow_null=True)
    started_at = serializers.DateTimeField()
    item_count = serializers.IntegerField(help_text="Items that were run, however often")
    execution_count = serializers.IntegerField()
    error_count = serializers.IntegerField()
    duration_ms = serializers.FloatField(allow_null=True, help_text="Median")
    cost = serializers.FloatField(allow_null=True, help_text="USD; null: unknown")
    unpriced_count = serializers.IntegerField(help_text="Executions whose cost is unknown")
    scores = ScoreMeanBody(many=True, help_text="Of the executions")
    run_scores = ScoreMeanBody(many=True, help_text="Of the run as a whole")


class DatasetNameBody(Body):
    id = serializers.CharField()
    name = serializers.CharField()


class ExperimentBody(DatasetRunBody):
    dataset = DatasetNameBody(allow_null=True, help_text="null: data that only the sender has")


class ExecutionBody(Body):
    trace_id = serializers.CharField()
    observation_id = serializers.CharField(allow_null=True)
    has_trace = serializers.BooleanField(help_text="Whether its trace has arrived")
    level = serializers.CharField()
    output = AnyField(allow_null=True)
    duration_ms = serializers.FloatField(allow_null=True)
    cost = serializers.CharField(allow_null=True)
    scores = ScoreBody(many=True)


class ComparedRunBody(Body):
    run = serializers.CharField(help_text="Id of the run")
    executions = ExecutionBody(many=True)


class ComparedItemBody(Body):
    item = DatasetItemBody()
    runs = ComparedRunBody(many=True)


class ExperimentItemBody(Body):
    item_id = serializers.CharField()
    input = AnyField(allow_null=True)
    expected_output = AnyField(allow_null=True)
    execution = ExecutionBody()
