"""The first owner, organization, project and key of an installation."""

import secrets
from dataclasses import dataclass

from django.db import connection, transaction

from hone.accounts.models import User
from hone.accounts.services.keys import api_key_create
from hone.accounts.services.members import user_create
from hone.accounts.services.projects import organization_create, project_create

LOCK = 0x686F6E65  # any number that nobody else locks


@dataclass(frozen=True, slots=True)
class Bootstrapped:
    """What a call made; all None but `created` where there were users already."""

    created: bool
    email: str | None = None
    project: str | None = None
    password: str | None = None
    public_key: str | None = None
    secret_key: str | None = None


@transaction.atomic
def bootstrap(
    *,
    email: str,
    password: str | None = None,
    organization: str = "Home",
    project: str = "Demo",
) -> Bootstrapped:
    """Make the first user and what belongs to one; where there is a user, nothing changes."""
    with connection.cursor() as cursor:  # two hosts may start at the same moment
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    if User.objects.exists():
        return Bootstrapped(created=False)
    password = password or secrets.token_urlsafe(12)
    user = user_create(email=email, password=password)
    home = organization_create(name=organization, owner=user)
    place = project_create(organization=home, name=project)
    key, secret = api_key_create(project=place, name="first key", created_by=user)
    return Bootstrapped(True, user.email, place.slug, password, key.public_key, secret)
