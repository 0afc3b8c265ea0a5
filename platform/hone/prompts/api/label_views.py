from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.accounts.core.roles import Role
from hone.common.schema import read
from hone.prompts.api import serializers
from hone.prompts.api.encode import prompt_row, version_body
from hone.prompts.api.views import PromptView
from hone.prompts.core.split import Arm
from hone.prompts.selectors import label_uses
from hone.prompts.services import Author, label_remove, label_set, label_split, labels_protect


class LabelDetail(PromptView):
    @extend_schema(request=serializers.LabelSet, responses=serializers.VersionBody)
    def put(self, request: Request, project: str, name: str, label: str) -> Response:
        fields = read(serializers.LabelSet, request)
        prompt = self.prompt(name)
        label_set(prompt=prompt, author=self.author(), label=label, version=fields["version"])
        return Response(version_body(self.version(prompt, fields["version"])))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, name: str, label: str) -> Response:
        label_remove(prompt=self.prompt(name), author=self.author(), label=label)
        return Response(status=204)


class LabelSplit(PromptView):
    """Several versions under one label, each user or session always with the same one."""

    @extend_schema(request=serializers.LabelSplit, responses=serializers.PromptRow)
    def put(self, request: Request, project: str, name: str, label: str) -> Response:
        fields = read(serializers.LabelSplit, request)
        arms = [Arm(arm["version"], arm["weight"]) for arm in fields["arms"]]
        label_split(
            prompt=self.prompt(name),
            author=self.author(),
            label=label,
            arms=arms,
            reshuffle=fields.get("reshuffle", False),
        )
        return Response(prompt_row(self.prompt(name)))


class ProjectLabels(ProjectView):
    """The labels of all prompts, and which of them only admins move."""

    roles: ClassVar = {"PUT": Role.ADMIN}

    def _answer(self) -> Response:
        uses = label_uses(self.access.project.pk)
        fields = ("name", "is_protected", "num_prompts")
        return Response({"labels": [{f: getattr(use, f) for f in fields} for use in uses]})

    @extend_schema(responses=serializers.LabelsBody)
    def get(self, request: Request, project: str) -> Response:
        return self._answer()

    @extend_schema(request=serializers.LabelsProtect, responses=serializers.LabelsBody)
    def put(self, request: Request, project: str) -> Response:
        fields = read(serializers.LabelsProtect, request)
        author = Author(self.access.author_name, self.access.user, is_admin=True)
        labels_protect(project=self.access.project, author=author, labels=fields["protected"])
        return self._answer()
