"""Files that payloads refer to, for our own pages."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.traces.api import said_bodies as bodies
from hone.traces.api.media_door import PATH
from hone.traces.core.media import is_inline
from hone.traces.selectors.media import media_get
from hone.traces.services.media import READ, media_token


class MediaDetail(ProjectView):
    @extend_schema(responses=bodies.MediaBody)
    def get(self, request: Request, project: str, media: str) -> Response:
        found = media_get(self.access.project.pk, media)
        body = {
            "id": found.key,
            "content_type": found.content_type,
            "num_bytes": found.num_bytes,
            "url": f"{PATH}/{media_token(found, READ)[0]}",
            "is_inline": is_inline(found.content_type),
        }
        return Response(body)
