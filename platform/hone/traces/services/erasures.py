"""A user's traces, all traces or a whole project deleted for good, by a job that says when."""

import uuid
from typing import Final

import structlog

from hone.accounts.core.roles import Role
from hone.accounts.models import ApiKey, User
from hone.accounts.selectors import Access, projects_of
from hone.accounts.services import api_key_revoke
from hone.common import clock, jobs
from hone.common.errors import InvalidError, NotFoundError
from hone.traces.models import Erasure
from hone.traces.selectors.changes import seq_now

log = structlog.get_logger(__name__)
TASK: Final = "hone.traces.erase"
ASKED: Final = (Erasure.What.USER, Erasure.What.TRACES, Erasure.What.PROJECT)


def erasure_request(*, access: Access, what: str, user_id: str = "") -> Erasure:
    """Have something deleted; a project's keys end at once.

    Raises ForbiddenError where somebody who is no owner wants the project gone.
    """
    if (what == Erasure.What.USER) != bool(user_id):
        raise InvalidError("user_id: wanted for `user`, and only there", field="user_id")
    if what == Erasure.What.PROJECT:
        access.require(Role.OWNER)
        for key in ApiKey.objects.filter(project=access.project, revoked_at=None):
            api_key_revoke(project=access.project, key_id=key.pk)
    erasure = Erasure.objects.create(
        key=uuid.uuid4().hex,
        organization=access.project.organization,
        project=access.project,
        project_slug=access.project.slug,
        what=what,
        user_id=user_id,
        author=access.user,
        author_name=access.author_name,
        created_at=clock.now(),
        until_seq=seq_now(),
    )
    log.info("erasure_requested", what=what, project=access.project.slug, key=erasure.key)
    jobs.wake(TASK)
    return erasure


def erasure_of(*, person: User, key: str) -> Erasure:
    """An erasure of an organization that the person administers; raises NotFoundError."""
    administered = [
        membership.organization_id
        for membership in projects_of(person)
        if Role(membership.role).covers(Role.ADMIN)
    ]
    found = Erasure.objects.filter(key=key, organization_id__in=administered).first()
    if found is None:
        raise NotFoundError(f"There is no erasure {key!r}")
    return found
