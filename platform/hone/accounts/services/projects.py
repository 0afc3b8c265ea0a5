from collections.abc import Callable, Iterator
from itertools import count

from django.db import transaction

from hone.accounts.core.names import SLUG, slug_numbered, slug_of
from hone.accounts.core.roles import Role
from hone.accounts.models import Membership, Organization, Project, User
from hone.accounts.services.rights import project_deleted_tell
from hone.common.errors import ConflictError, InvalidError

NAME_LEN = 120


def clean_name(name: str) -> str:
    """`name` without blanks around it; raises InvalidError for an empty or long one."""
    name = name.strip()
    if not 1 <= len(name) <= NAME_LEN or not name.isprintable():
        raise InvalidError(f"name: want 1 to {NAME_LEN} printable characters", field="name")
    return name


def _slugs(wanted: str) -> Iterator[str]:
    yield wanted
    yield from (slug_numbered(wanted, number) for number in count(2))


def _free_slug(name: str, slug: str | None, taken: Callable[[str], bool]) -> str:
    """`slug` if it is free, else one made from `name`; raises InvalidError, ConflictError."""
    if slug is None:
        return next(each for each in _slugs(slug_of(name)) if not taken(each))
    if not SLUG.match(slug):
        raise InvalidError(
            f"slug: got {slug[:60]!r}, want 1 to 50 of a-z 0-9 and inner dashes", field="slug"
        )
    if taken(slug):
        raise ConflictError(f"slug: {slug!r} is taken", field="slug")
    return slug


@transaction.atomic
def organization_create(*, name: str, owner: User, slug: str | None = None) -> Organization:
    """A new organization with `owner` as its first owner."""
    name = clean_name(name)
    free = _free_slug(name, slug, lambda s: Organization.objects.filter(slug=s).exists())
    organization = Organization.objects.create(name=name, slug=free)
    Membership.objects.create(organization=organization, user=owner, role=Role.OWNER)
    return organization


@transaction.atomic
def project_create(*, organization: Organization, name: str, slug: str | None = None) -> Project:
    """A new project; without `slug` one is made from the name."""
    name = clean_name(name)
    free = _free_slug(name, slug, lambda s: Project.objects.filter(slug=s).exists())
    return Project.objects.create(organization=organization, name=name, slug=free)


def project_update(*, project: Project, name: str) -> Project:
    """Rename a project; its slug stays, since links hold it."""
    project.name = clean_name(name)
    project.save(update_fields=["name"])
    return project


def project_delete(*, project_id: int) -> None:
    """Delete a project with its keys and all rows that hang on it; nothing where it is gone."""
    Project.objects.filter(pk=project_id).delete()
    project_deleted_tell(project_id)
