from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.common.errors import InvalidError
from hone.common.schema import read
from hone.prompts.api import serializers
from hone.prompts.api.encode import rendering
from hone.prompts.api.views import PromptView
from hone.prompts.core.content import CHAT, TEXT, content_of
from hone.prompts.core.declarations import problems
from hone.prompts.core.names import LATEST, Reference
from hone.prompts.selectors import Resolved, prompt_served, template_composed


class Render(PromptView):
    """Fill in variables; without version and label the latest is meant. Changes nothing."""

    @extend_schema(request=serializers.RenderRequest, responses=serializers.Rendering)
    def post(self, request: Request, project: str, name: str) -> Response:
        fields = read(serializers.RenderRequest, request)
        values = fields.get("variables") or {}
        if "prompt" in fields:
            return Response(self._unsaved(name, fields, values))
        number = fields.get("version")
        label = None if number else fields.get("label", LATEST)
        served = prompt_served(self.access.project.pk, Reference(name, number, label))
        version = served.versions[served.main]
        resolved = version.resolved
        parts = [(part.name, part.version) for part in version.whole.parts]
        found = problems(version.row.inputs, values)
        return Response(rendering(resolved, resolved.render(values), parts, found))

    def _unsaved(self, name: str, fields: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
        prompt = fields["prompt"]
        if not isinstance(prompt, str | list):
            raise InvalidError("prompt: want a text or a list of messages", field="prompt")
        kind = fields.get("type") or (TEXT if isinstance(prompt, str) else CHAT)
        content = content_of(kind, prompt, {})
        whole = template_composed(self.access.project.pk, name, content.prompt)
        resolved = Resolved(name, 0, kind, whole.template, {}, (), ())
        parts = [(part.name, part.version) for part in whole.parts]
        return rendering(resolved, resolved.render(values), parts)
