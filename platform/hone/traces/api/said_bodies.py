"""Bodies of scores, score configs, comments and files."""

from rest_framework import serializers

from hone.common.schema import Body
from hone.traces.core.scores import CONFIG_TYPES, SOURCES, TYPES
from hone.traces.models import Comment

KINDS = Comment.Kind.values


class CategoryBody(Body):
    label = serializers.CharField(max_length=500)  # type: ignore[assignment]
    value = serializers.FloatField()


class ScoreConfigBody(Body):
    id = serializers.CharField()
    name = serializers.CharField()
    type = serializers.ChoiceField(choices=CONFIG_TYPES)
    description = serializers.CharField()
    min_value = serializers.FloatField(allow_null=True)
    max_value = serializers.FloatField(allow_null=True)
    categories = CategoryBody(many=True)
    is_archived = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class ScoreConfigUpdate(Body):
    name = serializers.CharField(max_length=200, required=False)
    description = serializers.CharField(required=False, allow_blank=True)
    min_value = serializers.FloatField(required=False, allow_null=True)
    max_value = serializers.FloatField(required=False, allow_null=True)
    categories = CategoryBody(many=True, required=False)
    is_archived = serializers.BooleanField(required=False)


class ScoreConfigCreate(Body):
    name = serializers.CharField(max_length=200)
    type = serializers.ChoiceField(choices=CONFIG_TYPES)
    description = serializers.CharField(required=False, allow_blank=True)
    min_value = serializers.FloatField(required=False, allow_null=True)
    max_value = serializers.FloatField(required=False, allow_null=True)
    categories = CategoryBody(many=True, required=False)


class ScoreBody(Body):
    id = serializers.CharField()
    trace_id = serializers.CharField(allow_null=True)
    observation_id = serializers.CharField(allow_null=True)
    session_id = serializers.CharField(allow_null=True)
    run_id = serializers.CharField(allow_null=True, help_text="A dataset run")
    name = serializers.CharField()
    type = serializers.ChoiceField(choices=TYPES)
    source = serializers.ChoiceField(choices=SOURCES)  # type: ignore[assignment]
    number = serializers.FloatField(allow_null=True, help_text="0 or 1 of a BOOLEAN")
    text = serializers.CharField(allow_null=True, help_text="Category, text or correction")
    comment = serializers.CharField(allow_null=True)
    metadata = serializers.JSONField(allow_null=True)
    environment = serializers.CharField()
    config_id = serializers.CharField(allow_null=True)
    author = serializers.CharField(allow_null=True)
    timestamp = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class ScoreCreate(Body):
    id = serializers.CharField(max_length=800, required=False)
    trace_id = serializers.CharField(max_length=800, required=False)
    observation_id = serializers.CharField(max_length=800, required=False)
    session_id = serializers.CharField(max_length=800, required=False)
    run_id = serializers.CharField(max_length=800, required=False)
    name = serializers.CharField(max_length=500)
    type = serializers.ChoiceField(choices=TYPES, required=False)
    number = serializers.FloatField(required=False)
    text = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    comment = serializers.CharField(required=False, allow_blank=True)
    config_id = serializers.CharField(max_length=40, required=False)


class ScoreMeanBody(Body):
    name = serializers.CharField()
    type = serializers.ChoiceField(choices=TYPES)
    count = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True)
    label = serializers.CharField(allow_null=True)  # type: ignore[assignment]


class TraceMeansBody(Body):
    trace_id = serializers.CharField()
    scores = ScoreMeanBody(many=True)


class ScoreMeansBody(Body):
    traces = TraceMeansBody(many=True)


class ScoreNameBody(Body):
    name = serializers.CharField()
    type = serializers.ChoiceField(choices=TYPES)


class ScoreNamesBody(Body):
    names = ScoreNameBody(many=True)


class CommentBody(Body):
    id = serializers.CharField()
    object_type = serializers.ChoiceField(choices=KINDS)
    object_id = serializers.CharField()
    trace_id = serializers.CharField(allow_null=True)
    content = serializers.CharField()
    author = serializers.CharField()
    is_own = serializers.BooleanField(help_text="Whether the reader may change it")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class CommentCreate(Body):
    object_type = serializers.ChoiceField(choices=KINDS)
    object_id = serializers.CharField(max_length=800)
    trace_id = serializers.CharField(max_length=32, required=False)
    content = serializers.CharField(max_length=10_000, trim_whitespace=False)


class CommentUpdate(Body):
    content = serializers.CharField(max_length=10_000, trim_whitespace=False)


class MediaBody(Body):
    id = serializers.CharField()
    content_type = serializers.CharField()
    num_bytes = serializers.IntegerField()
    url = serializers.CharField(help_text="Opens the file for an hour")
    is_inline = serializers.BooleanField(help_text="Whether a browser may show it")
