from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.accounts.core.roles import Role
from hone.common.paging import paginate
from hone.common.public import flag_of
from hone.common.schema import page_of, read
from hone.prompts.api import serializers
from hone.prompts.api.encode import prompt_body, prompt_row, version_body
from hone.prompts.models import Prompt, PromptVersion
from hone.prompts.selectors import prompt_get, prompt_list, version_get, version_list
from hone.prompts.services import (
    Author,
    prompt_archive,
    prompt_create,
    prompt_delete,
    prompt_update,
    version_copy,
    version_create,
)

FILTERS = ("q", "label", "tag", "folder")


class PromptView(ProjectView):
    """What the endpoints of prompts share."""

    def author(self) -> Author:
        is_admin = self.access.role.covers(Role.ADMIN)
        return Author(self.access.author_name, self.access.user, is_admin=is_admin)

    def prompt(self, name: str) -> Prompt:
        return prompt_get(self.access.project.pk, name)

    def version(self, prompt: Prompt, number: int) -> PromptVersion:
        return version_get(prompt, number=number)

    def full(self, name: str) -> dict[str, object]:
        prompt = self.prompt(name)
        return prompt_body(prompt, version_get(prompt))


class Prompts(PromptView):
    @extend_schema(
        responses=page_of(serializers.PromptRow),
        parameters=[
            *(OpenApiParameter(name, str) for name in (*FILTERS, "limit", "cursor")),
            OpenApiParameter("archived", bool, description="Those in the archive, and no others"),
        ],
    )
    def get(self, request: Request, project: str) -> Response:
        filters = {name: request.query_params.get(name, "") for name in FILTERS}
        archived = flag_of(request.query_params, "archived") is True
        rows = prompt_list(self.access.project.pk, archived=archived, **filters)
        return Response(paginate(rows, request.query_params, {"name": str}).body(prompt_row))

    @extend_schema(request=serializers.PromptCreate, responses={201: serializers.PromptBody})
    def post(self, request: Request, project: str) -> Response:
        fields = read(serializers.PromptCreate, request)
        version = prompt_create(project=self.access.project, author=self.author(), **fields)
        return Response(self.full(version.prompt.name), status=201)


class PromptDetail(PromptView):
    @extend_schema(responses=serializers.PromptBody)
    def get(self, request: Request, project: str, name: str) -> Response:
        return Response(self.full(name))

    @extend_schema(request=serializers.PromptUpdate, responses=serializers.PromptBody)
    def patch(self, request: Request, project: str, name: str) -> Response:
        fields = read(serializers.PromptUpdate, request)
        prompt = self.prompt(name)
        if (archived := fields.pop("archived", None)) is not None:
            prompt = prompt_archive(prompt=prompt, archived=archived)
        return Response(self.full(prompt_update(prompt=prompt, **fields).name if fields else name))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, name: str) -> Response:
        prompt_delete(prompt=self.prompt(name), author=self.author())
        return Response(status=204)


class Versions(PromptView):
    @extend_schema(
        responses=page_of(serializers.VersionBody),
        parameters=[OpenApiParameter(name, str) for name in ("limit", "cursor")],
    )
    def get(self, request: Request, project: str, name: str) -> Response:
        rows = version_list(self.prompt(name))
        return Response(paginate(rows, request.query_params, {"-number": int}).body(version_body))

    @extend_schema(request=serializers.VersionCreate, responses={201: serializers.VersionBody})
    def post(self, request: Request, project: str, name: str) -> Response:
        fields = read(serializers.VersionCreate, request)
        prompt = self.prompt(name)
        made = version_create(
            prompt=prompt, author=self.author(), content=fields.pop("prompt"), **fields
        )
        return Response(version_body(self.version(prompt, made.number)), status=201)


class VersionDetail(PromptView):
    @extend_schema(responses=serializers.VersionBody)
    def get(self, request: Request, project: str, name: str, number: int) -> Response:
        return Response(version_body(self.version(self.prompt(name), number)))


class VersionCopy(PromptView):
    """A new prompt that begins with what this version says."""

    @extend_schema(request=serializers.VersionCopy, responses={201: serializers.PromptBody})
    def post(self, request: Request, project: str, name: str, number: int) -> Response:
        fields = read(serializers.VersionCopy, request)
        made = version_copy(
            prompt=self.prompt(name),
            version=number,
            author=self.author(),
            project=self.access.project,
            **fields,
        )
        return Response(self.full(made.prompt.name), status=201)
