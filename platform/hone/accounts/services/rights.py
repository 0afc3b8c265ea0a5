"""Telling whoever holds a connection open that somebody may do less now; after commit."""

from typing import Final

from hone.accounts.models import ApiKey, Organization, User
from hone.accounts.selectors import projects_of
from hone.common import events

MEMBERS_CHANGED: Final = "members.changed"  # of one `user` or `key` where it says so, else of all
PROJECT_DELETED: Final = "project.deleted"


def member_tell(organization: Organization, user_id: int) -> None:
    """The person's role in the organization is another one, or none."""
    for project in organization.projects.all():
        events.publish(project.pk, MEMBERS_CHANGED, {"user": user_id})


def signed_out_tell(user: User) -> None:
    """A sign-in of the person has ended."""
    for membership in projects_of(user):
        member_tell(membership.organization, user.pk)


def revoked_tell(key: ApiKey) -> None:
    """The key opens nothing any more."""
    events.publish(key.project_id, MEMBERS_CHANGED, {"key": key.pk})


def project_deleted_tell(project_id: int) -> None:
    """The project is gone with all that was in it."""
    events.publish(project_id, PROJECT_DELETED, {})
