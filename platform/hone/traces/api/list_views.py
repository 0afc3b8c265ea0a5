"""Observations, sessions and users."""

from typing import Final

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.common.schema import page_of
from hone.traces.api import answers
from hone.traces.api import list_bodies as bodies
from hone.traces.api.params import GROUP_PARAMETERS, PAGE_PARAMETERS, PLAIN_PARAMETERS

_GROUPS: Final = page_of(bodies.GroupBody)  # one component of the schema


class Observations(ProjectView):
    @extend_schema(
        parameters=[*PLAIN_PARAMETERS, *PAGE_PARAMETERS],
        responses=page_of(bodies.ObservationRowBody),
    )
    def get(self, request: Request, project: str) -> Response:
        return Response(answers.observations(self.access.project.id, request.query_params))


class ObservationFacets(ProjectView):
    @extend_schema(parameters=PLAIN_PARAMETERS, responses=bodies.ObservationFacetsBody)
    def get(self, request: Request, project: str) -> Response:
        return Response(answers.observation_facets(self.access.project.id, request.query_params))


class Sessions(ProjectView):
    @extend_schema(parameters=[*GROUP_PARAMETERS, *PAGE_PARAMETERS], responses=_GROUPS)
    def get(self, request: Request, project: str) -> Response:
        return Response(answers.sessions(self.access.project.id, request.query_params))


class Users(ProjectView):
    @extend_schema(parameters=[*GROUP_PARAMETERS, *PAGE_PARAMETERS], responses=_GROUPS)
    def get(self, request: Request, project: str) -> Response:
        return Response(answers.users(self.access.project.id, request.query_params))


class SessionDetail(ProjectView):
    @extend_schema(
        parameters=[*GROUP_PARAMETERS[:2], *PAGE_PARAMETERS], responses=bodies.SessionBody
    )
    def get(self, request: Request, project: str, session: str) -> Response:
        return Response(answers.session(self.access.project.id, request.query_params, session))


class UserDetail(ProjectView):
    @extend_schema(parameters=GROUP_PARAMETERS[:2], responses=bodies.GroupBody)
    def get(self, request: Request, project: str, user: str) -> Response:
        return Response(answers.user(self.access.project.id, request.query_params, user))
