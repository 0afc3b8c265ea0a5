"""Schema of the answers about observations, sessions, users and saved views."""

from rest_framework import serializers

from hone.common.schema import Body
from hone.traces.api.bodies import TYPE_CHOICES, FacetValueBody, PromptUseBody, TraceRowBody
from hone.traces.core.span import LEVELS, STATUSES
from hone.traces.models.views import SavedView

PAGES = SavedView.Page.values


class ObservationRowBody(Body):
    id = serializers.CharField(help_text="16 hex digits")
    trace_id = serializers.CharField(help_text="32 hex digits")
    parent_id = serializers.CharField(allow_null=True)
    type = serializers.ChoiceField(choices=TYPE_CHOICES)
    name = serializers.CharField()
    started_at = serializers.DateTimeField()
    duration_ms = serializers.FloatField()
    level = serializers.ChoiceField(choices=sorted(LEVELS))
    status = serializers.ChoiceField(choices=sorted(STATUSES))
    status_message = serializers.CharField(allow_null=True)
    model = serializers.CharField(allow_null=True)
    input_preview = serializers.CharField(allow_null=True)
    output_preview = serializers.CharField(allow_null=True)
    input_tokens = serializers.IntegerField(allow_null=True)
    output_tokens = serializers.IntegerField(allow_null=True)
    total_tokens = serializers.IntegerField(allow_null=True)
    cost = serializers.CharField(allow_null=True, help_text="USD; null: unknown")
    ttft_ms = serializers.FloatField(allow_null=True)
    tokens_per_second = serializers.FloatField(allow_null=True)
    prompt = PromptUseBody(allow_null=True)
    user_id = serializers.CharField(allow_null=True)
    session_id = serializers.CharField(allow_null=True)
    environment = serializers.CharField()
    release = serializers.CharField(allow_null=True)
    version = serializers.CharField(allow_null=True)


class ObservationFacetsBody(Body):
    type = FacetValueBody(many=True)
    level = FacetValueBody(many=True)
    model = FacetValueBody(many=True)
    name = FacetValueBody(many=True)
    environment = FacetValueBody(many=True)


class GroupBody(Body):
    id = serializers.CharField()
    first_at = serializers.DateTimeField()
    latest_at = serializers.DateTimeField()
    trace_count = serializers.IntegerField()
    observation_count = serializers.IntegerField()
    error_count = serializers.IntegerField(help_text="Traces with errors")
    total_tokens = serializers.IntegerField()
    cost = serializers.CharField(allow_null=True, help_text="USD; null: unknown")
    unpriced_count = serializers.IntegerField(help_text="Observations whose cost is unknown")
    users = serializers.ListField(child=serializers.CharField(), help_text="At most ten")
    session_count = serializers.IntegerField()


class TurnBody(Body):
    trace = TraceRowBody()
    input = serializers.JSONField(allow_null=True)
    output = serializers.JSONField(allow_null=True)


class SessionBody(Body):
    session = GroupBody()
    turns = TurnBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ViewBody(Body):
    id = serializers.IntegerField()
    page = serializers.ChoiceField(choices=PAGES)
    name = serializers.CharField()
    search = serializers.CharField(help_text="What stands behind ? in the page's address")
    shared = serializers.BooleanField()
    owner = serializers.CharField()
    is_own = serializers.BooleanField()


class ViewWrite(Body):
    page = serializers.ChoiceField(choices=PAGES)
    name = serializers.CharField(max_length=100)
    search = serializers.CharField(max_length=4000, allow_blank=True)
    shared = serializers.BooleanField(default=False)


class ViewChange(Body):
    name = serializers.CharField(max_length=100, required=False)
    search = serializers.CharField(max_length=4000, allow_blank=True, required=False)
    shared = serializers.BooleanField(required=False)
