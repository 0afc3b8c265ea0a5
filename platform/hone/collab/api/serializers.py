"""Bodies of the endpoints of drafts."""

from rest_framework import serializers

from hone.common.schema import Body
from hone.prompts.api.serializers import ObjectField, TemplateField


class DraftCreate(Body):
    name = serializers.CharField(max_length=80)
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)


class DraftBody(Body):
    id = serializers.UUIDField()
    name = serializers.CharField()
    prompt = serializers.CharField()
    base_version = serializers.IntegerField(allow_null=True)
    status = serializers.ChoiceField(choices=["open", "closed"])
    author = serializers.CharField()
    seq = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class RoomPerson(Body):
    id = serializers.CharField()
    name = serializers.CharField()
    color = serializers.CharField()


class DraftEntered(DraftBody):
    you = RoomPerson()


class DraftRow(DraftBody):
    people = serializers.ListField(
        child=serializers.CharField(), help_text="Who wrote in it, latest first"
    )


class DraftPage(Body):
    data = DraftRow(many=True)  # type: ignore[assignment]


class DraftContent(DraftBody):
    type = serializers.ChoiceField(choices=["text", "chat"])
    content = TemplateField()
    config = ObjectField()
    variables = ObjectField()
    you = RoomPerson(help_text="Who the others in its room see")


class DraftPublish(Body):
    message = serializers.CharField(required=False, allow_blank=True)
    labels = serializers.ListField(child=serializers.CharField(max_length=63), required=False)


class Published(Body):
    version = serializers.IntegerField()


class RoomToken(Body):
    token = serializers.CharField()
    url = serializers.CharField()
    expires_in_s = serializers.IntegerField()


class Moment(Body):
    seq = serializers.IntegerField()
    people = serializers.ListField(child=serializers.CharField())
    version = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()


class MomentPage(Body):
    data = Moment(many=True)  # type: ignore[assignment]


class MomentContent(Body):
    seq = serializers.IntegerField()
    type = serializers.ChoiceField(choices=["text", "chat"])
    content = TemplateField()
    config = ObjectField()


class PresentPerson(Body):
    id = serializers.CharField()
    name = serializers.CharField()
    color = serializers.CharField()


class PresenceBody(Body):
    draft = serializers.UUIDField()
    name = serializers.CharField()
    prompt = serializers.CharField()
    people = PresentPerson(many=True)


class PresencePage(Body):
    data = PresenceBody(many=True)  # type: ignore[assignment]
