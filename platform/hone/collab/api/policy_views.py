"""Which labels need approvals, and the versions and drafts of a prompt as a graph."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.accounts.core.roles import Role
from hone.collab.api import review_bodies as bodies
from hone.collab.api.views import DraftView
from hone.collab.selectors import draft_list, proposed_of, writers_of
from hone.common.schema import read
from hone.prompts.selectors import version_list
from hone.prompts.selectors.reviews import reviewed_labels
from hone.prompts.services.reviews import labels_review

MOST_VERSIONS, MOST_DRAFTS = 500, 200


class ReviewPolicyView(ProjectView):
    """Everybody may read it; admins set it."""

    roles: ClassVar[dict[str, Role]] = {"PUT": Role.ADMIN}

    @extend_schema(responses=bodies.ReviewPolicy)
    def get(self, request: Request, project: str) -> Response:
        return Response({"labels": reviewed_labels(self.access.project.pk)})

    @extend_schema(request=bodies.ReviewPolicy, responses=bodies.ReviewPolicy)
    def put(self, request: Request, project: str) -> Response:
        fields = read(bodies.ReviewPolicy, request)
        labels_review(project=self.access.project, labels=fields["labels"])
        return Response({"labels": reviewed_labels(self.access.project.pk)})


class PromptGraphView(DraftView):
    """The newest versions with what they were made of, and the drafts on them."""

    @extend_schema(responses=bodies.PromptGraph)
    def get(self, request: Request, project: str, name: str) -> Response:
        prompt = self.prompt(name)
        versions = version_list(prompt).prefetch_related("approvals").order_by("-number")
        drafts = list(draft_list(prompt)[:MOST_DRAFTS])
        ids = [draft.pk for draft in drafts]
        people, proposed = writers_of(ids), proposed_of(ids)
        return Response(
            {
                "versions": [
                    {
                        "version": row.number,
                        "parent": row.parent.number if row.parent else None,
                        "labels": sorted(label.name for label in row.labels.all()),
                        "author": row.author_name,
                        "message": row.message,
                        "approvals": [one.user_name for one in row.approvals.all()],
                        "created_at": row.created_at,
                    }
                    for row in versions[:MOST_VERSIONS]
                ],
                "drafts": [
                    {
                        "id": draft.pk,
                        "name": draft.name,
                        "base_version": draft.base.number if draft.base else None,
                        "status": draft.status,
                        "people": people.get(draft.pk, []),
                        "is_proposed": draft.pk in proposed,
                        "updated_at": draft.updated_at,
                    }
                    for draft in drafts
                ],
            }
        )
