from dataclasses import dataclass

from django.db.models import QuerySet

from hone.accounts.core.roles import Role
from hone.accounts.models import ApiKey, Membership, Project, User
from hone.common.errors import ForbiddenError, NotFoundError


@dataclass(frozen=True, slots=True)
class Access:
    """Somebody's way into a project: a person (`user`) or a program (`key`)."""

    project: Project
    role: Role
    user: User | None = None
    key: ApiKey | None = None

    def __post_init__(self) -> None:
        assert (self.user is None) != (self.key is None), "a person or a key, not both"

    @property
    def author_name(self) -> str:
        """Who to name as the author of what is written."""
        if self.user is not None:
            return self.user.name or self.user.email
        assert self.key is not None
        return f"key {self.key.name}"

    def require(self, role: Role) -> None:
        """Raise ForbiddenError unless the role covers `role`."""
        if not self.role.covers(role):
            raise ForbiddenError(
                f"This needs the role {role.value}; yours in {self.project.slug} is"
                f" {self.role.value}"
            )


def access_of_user(user: User, project_slug: str) -> Access:
    """The person's access to a project; raises NotFoundError also where they are outside."""
    membership = (
        Membership.objects.filter(user=user, organization__projects__slug=project_slug)
        .only("role")
        .first()
    )
    project = Project.objects.select_related("organization").filter(slug=project_slug).first()
    if membership is None or project is None:
        raise NotFoundError(f"There is no project {project_slug!r}")
    return Access(project, Role(membership.role), user=user)


def access_of_key(key: ApiKey, project_slug: str) -> Access:
    """A key's access: to its own project, as a member; raises NotFoundError for any other."""
    if key.project.slug != project_slug:
        raise NotFoundError(f"There is no project {project_slug!r}")
    return Access(key.project, Role.MEMBER, key=key)


def projects_of(user: User) -> QuerySet[Membership, Membership]:
    """The person's memberships, with organizations and their projects fetched."""
    return (
        Membership.objects.filter(user=user)
        .select_related("organization")
        .prefetch_related("organization__projects")
        .order_by("organization__slug")
    )


def organization_administered(user: User, slug: str | None) -> Membership:
    """The person's membership in the organization `slug` (or the first) that lets them set it up.

    Raises NotFoundError for an organization they are outside of, ForbiddenError for too low a role.
    """
    memberships = list(projects_of(user))
    if slug is not None:
        memberships = [m for m in memberships if m.organization.slug == slug]
        if not memberships:
            raise NotFoundError(f"There is no organization {slug!r}", field="organization")
    for membership in memberships:
        if Role(membership.role).covers(Role.ADMIN):
            return membership
    raise ForbiddenError("This needs the role admin in an organization", field="organization")
