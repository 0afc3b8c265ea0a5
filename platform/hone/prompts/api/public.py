"""Prompts for programs: by name with version or label, created, labeled, listed, deleted.

The shapes are those of Langfuse, whose clients cache what they get and fall back to a text of their
own when they cannot get it.
"""

from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.errors import InvalidError, NotFoundError
from hone.common.public import number_of, page_body, page_query
from hone.prompts.api.public_shapes import meta_body, publish_fields, version_body
from hone.prompts.api.reading import asked_of, prompt_body, public_words
from hone.prompts.core.names import LATEST, MAX_NUMBER, Reference
from hone.prompts.selectors import (
    prompt_get,
    prompt_served,
    prompts_public,
    version_find,
    versions_of,
)
from hone.prompts.services import (
    Author,
    labels_add,
    version_publish,
    versions_delete,
)


class PromptsView(PublicView):
    def author(self) -> Author:
        """A key writes as a member does: protected labels are not its to move."""
        return Author(self.access.author_name, self.access.user)


class PublicPrompt(PromptsView):
    def get(self, request: Request, name: str) -> Response:
        # A running installation serves this by read_door, from the same parts.
        asked = asked_of(name, request.query_params, request.headers)
        with public_words(asked):
            served = prompt_served(self.project.pk, asked.reference, raw=asked.raw)
        return Response(prompt_body(served, asked))

    def delete(self, request: Request, name: str) -> Response:
        params = request.query_params
        prompt = prompt_get(self.project.pk, name)
        numbers = versions_of(
            prompt,
            number=number_of(params, "version", minimum=1, maximum=MAX_NUMBER),
            label=params.get("label") or None,
        )
        if not numbers:
            raise NotFoundError(f"Prompt not found: {name!r} has no such version")
        versions_delete(prompt=prompt, author=self.author(), numbers=numbers)
        return Response(status=204)


class PublicPrompts(PromptsView):
    def get(self, request: Request) -> Response:
        query = page_query(request.query_params)
        rows = prompts_public(self.project.pk, request.query_params)
        page = rows[query.offset : query.offset + query.limit]
        return Response(page_body([meta_body(row) for row in page], query, rows.count()))

    def post(self, request: Request) -> Response:
        fields = publish_fields(request.data)
        made = version_publish(project=self.project, author=self.author(), **fields)
        reference = Reference(fields["name"], made.number)
        version = version_find(self.project.pk, reference)
        return Response(version_body(version, self.project.slug, None), status=201)


class PublicVersion(PromptsView):
    def patch(self, request: Request, name: str, number: int) -> Response:
        labels = request.data.get("newLabels") if isinstance(request.data, dict) else None
        is_list = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
        if not is_list or labels is None:
            raise InvalidError("newLabels: want a list of labels", field="newLabels")
        if LATEST in labels:
            raise InvalidError("newLabels: latest follows the newest version by itself")
        if number > MAX_NUMBER:
            raise NotFoundError(f"Prompt not found: {name!r} has no version {number}")
        prompt = prompt_get(self.project.pk, name)
        labels_add(prompt=prompt, author=self.author(), version=number, labels=labels)
        found = version_find(self.project.pk, Reference(name, number))
        return Response(version_body(found, self.project.slug, None))
