"""Traces: list, histogram, facets, detail, deletion."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.common.errors import NotFoundError
from hone.common.schema import page_of
from hone.traces.api import answers, bodies
from hone.traces.api.params import FILTER_PARAMETERS, PAGE_PARAMETERS, trace_id_of
from hone.traces.services import trace_delete


class Traces(ProjectView):
    @extend_schema(
        parameters=[*FILTER_PARAMETERS, *PAGE_PARAMETERS],
        responses=page_of(bodies.TraceRowBody),
    )
    def get(self, request: Request, project: str) -> Response:
        return Response(answers.traces(self.access.project.id, request.query_params))


class TraceHistogram(ProjectView):
    @extend_schema(
        parameters=[*FILTER_PARAMETERS, OpenApiParameter("buckets", int, description="1 to 500")],
        responses=bodies.HistogramBody,
    )
    def get(self, request: Request, project: str) -> Response:
        return Response(answers.trace_histogram(self.access.project.id, request.query_params))


class TraceFacets(ProjectView):
    @extend_schema(parameters=FILTER_PARAMETERS, responses=bodies.FacetsBody)
    def get(self, request: Request, project: str) -> Response:
        return Response(answers.trace_facets(self.access.project.id, request.query_params))


class TraceDetail(ProjectView):
    @extend_schema(
        parameters=[
            *PAGE_PARAMETERS,
            OpenApiParameter(
                "light",
                bool,
                description=f"Observations without payloads, up to {answers.LIGHT} at once",
            ),
        ],
        responses=bodies.TraceDetailBody,
    )
    def get(self, request: Request, project: str, trace_id: str) -> Response:
        return Response(answers.trace(self.access.project.id, request.query_params, trace_id))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, trace_id: str) -> Response:
        project_id = self.access.project.id
        if not trace_delete(project_id=project_id, trace_id=trace_id_of(trace_id)):
            raise NotFoundError("There is no such trace")
        return Response(status=204)


class TraceObservation(ProjectView):
    @extend_schema(responses=bodies.ObservationBody)
    def get(self, request: Request, project: str, trace_id: str, observation_id: str) -> Response:
        params, project_id = request.query_params, self.access.project.id
        return Response(answers.observation(project_id, params, trace_id, observation_id))
