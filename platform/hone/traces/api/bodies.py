"""Schema of the answers; the values are the dataclasses of the selectors."""

from typing import Final

from rest_framework import serializers

from hone.common.schema import Body
from hone.traces.core.span import LEVELS, STATUSES, TYPES

TYPE_CHOICES: Final = sorted(TYPES)


class PromptUseBody(Body):
    name = serializers.CharField()
    version = serializers.JSONField(allow_null=True, help_text="A number, or what a sender named")


class TraceRowBody(Body):
    id = serializers.CharField(help_text="32 hex digits")
    name = serializers.CharField()
    started_at = serializers.DateTimeField()
    duration_ms = serializers.FloatField()
    status = serializers.ChoiceField(choices=["ok", "error"])
    input_preview = serializers.CharField(allow_null=True)
    output_preview = serializers.CharField(allow_null=True)
    models = serializers.ListField(child=serializers.CharField())
    observation_count = serializers.IntegerField()
    error_count = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()
    cost = serializers.CharField(allow_null=True, help_text="USD; null: unknown")
    unpriced_count = serializers.IntegerField(help_text="Observations whose cost is unknown")
    ttft_ms = serializers.FloatField(allow_null=True)
    tokens_per_second = serializers.FloatField(allow_null=True)
    user_id = serializers.CharField(allow_null=True)
    session_id = serializers.CharField(allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())
    environment = serializers.CharField()
    prompts = PromptUseBody(many=True)
    release = serializers.CharField(allow_null=True)
    version = serializers.CharField(allow_null=True)


class TraceBody(TraceRowBody):
    input = serializers.JSONField(allow_null=True)
    output = serializers.JSONField(allow_null=True)
    metadata = serializers.DictField()


class ObservationBody(Body):
    id = serializers.CharField(help_text="16 hex digits")
    parent_id = serializers.CharField(allow_null=True, help_text="May name one that never came")
    type = serializers.ChoiceField(choices=TYPE_CHOICES)
    name = serializers.CharField()
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField()
    duration_ms = serializers.FloatField()
    level = serializers.ChoiceField(choices=sorted(LEVELS))
    status = serializers.ChoiceField(choices=sorted(STATUSES))
    status_message = serializers.CharField(allow_null=True)
    model = serializers.CharField(allow_null=True)
    model_parameters = serializers.DictField()
    input = serializers.JSONField(allow_null=True)
    output = serializers.JSONField(allow_null=True)
    metadata = serializers.DictField()
    usage = serializers.DictField(child=serializers.IntegerField(), allow_null=True)
    cost = serializers.DictField(child=serializers.CharField(), allow_null=True)
    ttft_ms = serializers.FloatField(allow_null=True)
    tokens_per_second = serializers.FloatField(allow_null=True)
    prompt = PromptUseBody(allow_null=True)
    attributes = serializers.DictField()
    events = serializers.ListField(child=serializers.DictField())
    scope = serializers.CharField(allow_null=True)


class TraceDetailBody(Body):
    trace = TraceBody()
    observations = ObservationBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class BucketBody(Body):
    start = serializers.DateTimeField()
    ok = serializers.IntegerField()
    error = serializers.IntegerField()


class HistogramBody(Body):
    buckets = BucketBody(many=True)


class FacetValueBody(Body):
    value = serializers.CharField()
    count = serializers.IntegerField()


class FacetsBody(Body):
    models = FacetValueBody(many=True)
    names = FacetValueBody(many=True)
    status = FacetValueBody(many=True)
    environments = FacetValueBody(many=True)
    tags = FacetValueBody(many=True)
