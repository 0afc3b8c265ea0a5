"""Endpoints below /api/projects/{project}: connections, models, engine, runs."""

from datetime import datetime
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.accounts.core.roles import Role
from hone.common.errors import InvalidError
from hone.common.paging import paginate
from hone.gateway import selectors
from hone.gateway.api import schema
from hone.gateway.services import connections, runs

STATES = OpenApiParameter("state", str, description="Only these, separated by commas")
CONNECTION_FIELDS = ("name", "base_url", "api_key", "models")


def body_of(request: Request, allowed: tuple[str, ...]) -> dict[str, Any]:
    """The JSON object that was sent; raises InvalidError for other fields than `allowed`."""
    if not isinstance(request.data, dict):
        raise InvalidError("The body must be a JSON object")
    if unknown := sorted(request.data.keys() - set(allowed)):
        raise InvalidError(f"{unknown[0]}: there is no such field", field=str(unknown[0]))
    return dict(request.data)


class ConnectionList(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"POST": Role.ADMIN}

    @extend_schema(responses=schema.ConnectionPage)
    def get(self, request: Request, project: str) -> Response:
        """The project's connections and the local engines."""
        rows = selectors.connections_visible(self.access.project.pk)
        data = [connections.connection_body(row) for row in rows]
        return Response({"data": data, "next_cursor": None})

    @extend_schema(request=schema.ConnectionWrite, responses={201: schema.Connection})
    def post(self, request: Request, project: str) -> Response:
        """Store an OpenAI-compatible address; its key is kept encrypted and never shown again."""
        values = body_of(request, CONNECTION_FIELDS)
        row = connections.connection_create(
            project=self.access.project,
            name=values.get("name", ""),
            base_url=values.get("base_url", ""),
            api_key=values.get("api_key") or "",
            models=values.get("models", []),
        )
        return Response(connections.connection_body(row), status=201)


class ConnectionDetail(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"PATCH": Role.ADMIN, "DELETE": Role.ADMIN}

    @extend_schema(request=schema.ConnectionWrite, responses=schema.Connection)
    def patch(self, request: Request, project: str, connection: int) -> Response:
        """Change a connection; a new address without a new key forgets the key."""
        row = selectors.connection_get(self.access.project, connection)
        changes = body_of(request, CONNECTION_FIELDS)
        row = connections.connection_update(connection=row, changes=changes)
        return Response(connections.connection_body(row))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, connection: int) -> Response:
        row = selectors.connection_get(self.access.project, connection)
        connections.connection_delete(connection=row)
        return Response(status=204)


class ConnectionTest(ProjectView):
    roles: ClassVar[dict[str, Role]] = {"POST": Role.ADMIN}

    @extend_schema(request=None, responses=schema.ConnectionTested)
    def post(self, request: Request, project: str, connection: int) -> Response:
        """Ask the address for its models."""
        row = selectors.connection_get(self.access.project, connection)
        return Response(connections.connection_test(connection=row))


class ModelList(ProjectView):
    @extend_schema(responses=schema.ModelPage)
    def get(self, request: Request, project: str) -> Response:
        """The models that the project can call."""
        rows = selectors.models_list(self.access.project.pk)
        return Response({"data": [selectors.model_body(row) for row in rows], "next_cursor": None})


class EngineDetail(ProjectView):
    @extend_schema(responses=schema.Engine)
    def get(self, request: Request, project: str) -> Response:
        """The local engine: its state, its model and its load."""
        return Response(selectors.engine_get())


class RunList(ProjectView):
    @extend_schema(responses=schema.RunPage)
    def get(self, request: Request, project: str) -> Response:
        """The project's runs, newest first."""
        page = paginate(
            selectors.runs_list(self.access.project),
            request.query_params,
            {"-created_at": datetime, "-id": int},
        )
        return Response(page.body(selectors.run_body))

    @extend_schema(request=schema.RunWrite, responses={202: schema.Run})
    def post(self, request: Request, project: str) -> Response:
        """Answer one prompt version for each of `inputs`; progress comes over the live feed."""
        fields = ("name", "prompt", "model", "parameters", "inputs")
        values = body_of(request, fields)
        run = runs.run_create(
            project=self.access.project,
            author=self.access.author_name,
            **{name: values.get(name) for name in fields},
        )
        return Response(selectors.run_body(run), status=202)


class RunDetail(ProjectView):
    @extend_schema(responses=schema.Run)
    def get(self, request: Request, project: str, run: int) -> Response:
        return Response(selectors.run_body(selectors.run_get(self.access.project, run)))


class RunItems(ProjectView):
    @extend_schema(parameters=[STATES], responses=schema.ItemPage)
    def get(self, request: Request, project: str, run: int) -> Response:
        """The run's inputs in their order, with what was answered."""
        found = selectors.run_get(self.access.project, run)
        wanted = request.query_params.get("state", "")
        items = selectors.run_items(found, states=[each for each in wanted.split(",") if each])
        page = paginate(items, request.query_params, {"index": int})
        return Response(page.body(selectors.item_body))


class RunCancel(ProjectView):
    @extend_schema(request=None, responses=schema.Run)
    def post(self, request: Request, project: str, run: int) -> Response:
        """Stop a run; what is answered stays."""
        found = selectors.run_get(self.access.project, run)
        return Response(selectors.run_body(runs.run_cancel(run=found)))
