"""Files in the public API: announced, uploaded to a signed address here, read from one."""

from typing import Any

from django.conf import settings
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.public import stamp
from hone.common.schema import read
from hone.traces.api.media_door import PATH
from hone.traces.models import Media
from hone.traces.selectors.media import media_get
from hone.traces.services.media import READ, UPLOAD, Place, media_announce, media_token


class MediaAnnounce(serializers.Serializer[Any]):
    traceId = serializers.CharField(required=False, allow_null=True)
    observationId = serializers.CharField(required=False, allow_null=True)
    datasetId = serializers.CharField(required=False, allow_null=True)
    datasetItemId = serializers.CharField(required=False, allow_null=True)
    contentType = serializers.CharField(max_length=255)
    contentLength = serializers.IntegerField()
    sha256Hash = serializers.CharField(max_length=64)
    field = serializers.CharField(max_length=20)


def address(request: Request, token: str) -> str:
    """The address of the bytes on the host that the client reached, so that it can again."""
    host = request.get_host()
    known = settings.HONE_URL  # tells the scheme where a proxy stands in front
    base = known if known.partition("://")[2] == host else f"{request.scheme}://{host}"
    return f"{base}{PATH}/{token}"


def media_body(request: Request, media: Media) -> dict[str, Any]:
    token, until = media_token(media, READ)
    return {
        "mediaId": media.key,
        "contentType": media.content_type,
        "contentLength": media.num_bytes,
        "uploadedAt": stamp(media.uploaded_at),
        "url": address(request, token),
        "urlExpiry": stamp(until),
    }


class PublicMedia(PublicView):
    def post(self, request: Request) -> Response:
        fields = read(MediaAnnounce, request)
        place = Place(
            field=fields["field"],
            trace_id=fields.get("traceId"),
            observation_id=fields.get("observationId"),
            dataset_id=fields.get("datasetId"),
            dataset_item_id=fields.get("datasetItemId"),
        )
        media = media_announce(
            project_id=self.project.pk,
            content_type=fields["contentType"],
            num_bytes=fields["contentLength"],
            sha256=fields["sha256Hash"],
            place=place,
        )
        url = None
        if media.uploaded_at is None:
            url = address(request, media_token(media, UPLOAD)[0])
        return Response({"mediaId": media.key, "uploadUrl": url}, status=201)


class PublicMediaOne(PublicView):
    def get(self, request: Request, media: str) -> Response:
        return Response(media_body(request, media_get(self.project.pk, media)))

    def patch(self, request: Request, media: str) -> Response:
        """What the client says of its upload; whether the bytes are here is known better here."""
        return Response(status=204)
