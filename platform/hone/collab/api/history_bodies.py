"""Bodies of the endpoints of a draft's history."""

from rest_framework import serializers

from hone.collab.api.serializers import Moment, RoomPerson
from hone.common.schema import Body


class HistoryStroke(Body):
    first = serializers.IntegerField()
    latest = serializers.IntegerField()
    person = RoomPerson(allow_null=True)
    ended_at = serializers.DateTimeField()


class HistoryWriter(Body):
    client = serializers.IntegerField()
    person = RoomPerson()


class DraftHistory(Body):
    seq = serializers.IntegerField()
    moments = Moment(many=True)
    strokes = HistoryStroke(many=True)
    writers = HistoryWriter(many=True)


class DraftState(Body):
    seq = serializers.IntegerField()
    state = serializers.CharField(help_text="The Yjs document, base64.")


class DraftRestore(Body):
    seq = serializers.IntegerField(min_value=0, max_value=2**53)


class DraftRestored(Body):
    seq = serializers.IntegerField(help_text="Of the edit that says it again.")
