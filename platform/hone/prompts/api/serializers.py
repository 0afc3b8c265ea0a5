"""Bodies of the prompts endpoints."""

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hone.common.schema import Body

TYPES = ["text", "chat"]


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string"},
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["role"],
                    "properties": {
                        "role": {"type": "string"},
                        "content": {
                            "nullable": True,
                            "oneOf": [
                                {"type": "string"},
                                {"type": "array", "items": {"type": "object"}},
                            ],
                        },
                    },
                    "additionalProperties": True,
                },
            },
        ]
    }
)
class TemplateField(serializers.JSONField):
    """Text, or a list of chat messages."""


@extend_schema_field({"type": "object", "additionalProperties": True})
class ObjectField(serializers.JSONField):
    """Any JSON object."""


INPUTS_HELP = "By variable: type, example, description; kept from the parent where not given"


class VersionCreate(Body):
    type = serializers.ChoiceField(choices=TYPES, required=False)
    prompt = TemplateField()
    config = ObjectField(required=False)
    inputs = ObjectField(required=False, help_text=INPUTS_HELP)
    labels = serializers.ListField(child=serializers.CharField(max_length=63), required=False)
    message = serializers.CharField(required=False, allow_blank=True)
    parent = serializers.IntegerField(  # type: ignore[assignment]
        min_value=1, max_value=2**31 - 1, required=False
    )


class PromptCreate(Body):
    name = serializers.CharField(max_length=200, trim_whitespace=False)
    type = serializers.ChoiceField(choices=TYPES)
    prompt = TemplateField()
    config = ObjectField(required=False)
    inputs = ObjectField(required=False, help_text=INPUTS_HELP)
    labels = serializers.ListField(child=serializers.CharField(max_length=63), required=False)
    tags = serializers.ListField(child=serializers.CharField(max_length=60), required=False)
    message = serializers.CharField(required=False, allow_blank=True)
    description = serializers.CharField(required=False, allow_blank=True)


class PromptUpdate(Body):
    name = serializers.CharField(max_length=200, required=False, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True)
    tags = serializers.ListField(child=serializers.CharField(max_length=60), required=False)
    archived = serializers.BooleanField(required=False)


class VersionCopy(Body):
    name = serializers.CharField(max_length=200, trim_whitespace=False)


class ArmBody(Body):
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    weight = serializers.IntegerField(min_value=1, max_value=10_000)


class LabelSplit(Body):
    arms = ArmBody(
        many=True, help_text="2 to 10; the first is for whoever names no user or session"
    )
    reshuffle = serializers.BooleanField(required=False, help_text="Deal everybody a version anew")


class LabelUseBody(Body):
    name = serializers.CharField()
    is_protected = serializers.BooleanField()
    num_prompts = serializers.IntegerField()


class LabelsBody(Body):
    labels = LabelUseBody(many=True)


class LabelsProtect(Body):
    protected = serializers.ListField(child=serializers.CharField(max_length=63))


class LabelSet(Body):
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1)


class RenderRequest(Body):
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)
    label = serializers.CharField(max_length=63, required=False)  # type: ignore[assignment]
    variables = ObjectField(required=False)
    type = serializers.ChoiceField(choices=TYPES, required=False)
    prompt = TemplateField(required=False, help_text="Unsaved text, rendered in place of a version")


class PartBody(Body):
    name = serializers.CharField()
    version = serializers.IntegerField()


class Rendering(Body):
    name = serializers.CharField()
    version = serializers.IntegerField()
    type = serializers.ChoiceField(choices=TYPES)
    config = ObjectField()
    text = serializers.CharField(allow_null=True)
    messages = serializers.ListField(child=ObjectField(), allow_null=True)
    missing = serializers.ListField(child=serializers.CharField())
    parts = PartBody(many=True, help_text="Versions of other prompts that it contains")
    problems = serializers.ListField(
        child=serializers.CharField(), help_text="Values that do not fit what is declared of them"
    )


class AuthorBody(Body):
    name = serializers.CharField()
    email = serializers.CharField(allow_null=True)


class VersionBody(Body):
    version = serializers.IntegerField()
    type = serializers.ChoiceField(choices=TYPES)
    prompt = TemplateField()
    config = ObjectField()
    labels = serializers.ListField(child=serializers.CharField())
    variables = serializers.ListField(child=serializers.CharField())
    inputs = serializers.DictField(child=ObjectField(), help_text="What is declared of variables")
    parent = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    author = AuthorBody()
    message = serializers.CharField()
    content_hash = serializers.CharField()
    created_at = serializers.DateTimeField()


class PromptRow(Body):
    name = serializers.CharField()
    type = serializers.ChoiceField(choices=TYPES)
    description = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    labels = serializers.DictField(
        child=serializers.IntegerField(), help_text="Label to version number"
    )
    splits = serializers.DictField(
        child=ArmBody(many=True), help_text="Labels that stand for several versions by weight"
    )
    latest_version = serializers.IntegerField()
    archived_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class PromptBody(PromptRow):
    version = VersionBody(help_text="The latest")


class PushedFile(Body):
    path = serializers.CharField()
    name = serializers.CharField()
    action = serializers.CharField(
        help_text="created, updated, labeled, unchanged, behind, conflict or refused"
    )
    version = serializers.IntegerField(allow_null=True)
    message = serializers.CharField()


class PushedFiles(Body):
    files = PushedFile(many=True)
