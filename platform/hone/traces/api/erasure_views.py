"""Deletion for good of a user's traces, of all traces, or of a project."""

from datetime import datetime
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hone.accounts.api.access import ProjectView, person
from hone.accounts.core.roles import Role
from hone.common.paging import paginate
from hone.common.schema import Body, page_of, read
from hone.traces.api.params import PAGE_PARAMETERS
from hone.traces.models import Erasure
from hone.traces.services.erasures import ASKED, erasure_of, erasure_request


class ErasureCreate(Body):
    what = serializers.ChoiceField(choices=[(what, what.label) for what in ASKED])
    user_id = serializers.CharField(
        max_length=500, required=False, trim_whitespace=False, help_text="Of `user`"
    )


class ErasureBody(Body):
    id = serializers.CharField()
    project = serializers.CharField(help_text="The slug, also when the project is gone")
    what = serializers.ChoiceField(choices=Erasure.What.choices)
    user_id = serializers.CharField(allow_null=True)
    state = serializers.CharField(help_text="queued, running, done or failed")
    trace_count = serializers.IntegerField(help_text="Traces deleted so far")
    trace_total = serializers.IntegerField(
        allow_null=True, help_text="Traces that there were when it started; null: not started"
    )
    before = serializers.DateTimeField(
        allow_null=True, help_text="Of `retention`: traces that ended earlier go"
    )
    author = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    done_at = serializers.DateTimeField(allow_null=True)


def erasure_row(erasure: Erasure) -> dict[str, Any]:
    return {
        "id": erasure.key,
        "project": erasure.project_slug,
        "what": erasure.what,
        "user_id": erasure.user_id or None,
        "state": erasure.state,
        "trace_count": erasure.trace_count,
        "trace_total": erasure.trace_total,
        "before": erasure.before,
        "author": erasure.author_name,
        "created_at": erasure.created_at,
        "started_at": erasure.started_at,
        "done_at": erasure.done_at,
    }


class Erasures(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"GET": Role.ADMIN, "POST": Role.ADMIN}

    @extend_schema(parameters=PAGE_PARAMETERS, responses=page_of(ErasureBody))
    def get(self, request: Request, project: str) -> Response:
        rows = Erasure.objects.filter(project=self.access.project)
        newest = {"-created_at": datetime, "-id": int}
        return Response(paginate(rows, request.query_params, newest).body(erasure_row))

    @extend_schema(request=ErasureCreate, responses={202: ErasureBody})
    def post(self, request: Request, project: str) -> Response:
        fields = read(ErasureCreate, request)
        return Response(erasure_row(erasure_request(access=self.access, **fields)), status=202)


class ErasureDetail(APIView):
    """Outside of the project, which may be gone by then."""

    @extend_schema(responses=ErasureBody)
    def get(self, request: Request, erasure: str) -> Response:
        return Response(erasure_row(erasure_of(person=person(request), key=erasure)))
