"""Who writes at this moment, in all drafts of a project."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.collab.api import serializers
from hone.collab.selectors import drafts_named
from hone.collab.services.here import here_read


class ProjectPresence(ProjectView):
    """The drafts that somebody is in, with their people; one read of Redis and one query."""

    @extend_schema(responses=serializers.PresencePage)
    def get(self, request: Request, project: str) -> Response:
        here = here_read(self.access.project.pk)
        named = drafts_named(self.access.project.pk, list(here)) if here else []
        data = [
            {"draft": draft, "name": name, "prompt": prompt, "people": here[draft]}
            for draft, name, prompt in named
        ]
        return Response({"data": data})
