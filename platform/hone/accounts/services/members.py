import secrets

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from hone.accounts.core.names import EMAIL, email_of
from hone.accounts.core.roles import Role
from hone.accounts.models import Membership, Organization, User
from hone.accounts.services.rights import member_tell
from hone.common.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError


def user_create(*, email: str, name: str = "", password: str) -> User:
    """A new person; raises InvalidError for a bad email or a weak password, ConflictError."""
    email = email_of(email)
    if not EMAIL.match(email):
        raise InvalidError(f"email: got {email[:80]!r}, want name@host", field="email")
    if User.objects.filter(email=email).exists():
        raise ConflictError("email: there is a user with it already", field="email")
    user = User(email=email, name=name.strip()[:120])
    check_password_strength(password, user)
    user.set_password(password)
    user.save()
    return user


def check_password_strength(password: str, user: User) -> None:
    """Raise InvalidError for a password that is short or like the person's name."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidError(f"password: {' '.join(error.messages)}", field="password") from None


def password_change(*, user: User, current: str, new: str) -> None:
    """Set a new password; the person's other sign-ins end."""
    if not user.check_password(current):
        raise ForbiddenError("current: that is not the present password", field="current")
    check_password_strength(new, user)
    user.set_password(new)
    user.save(update_fields=["password"])


@transaction.atomic
def member_add(
    *,
    organization: Organization,
    by: Role,
    email: str,
    role: Role,
    name: str = "",
    password: str | None = None,
) -> tuple[Membership, str | None]:
    """Add a person, known or new; the second value is the initial password, if one was made up.

    `password` is for a new person only: nobody sets another one's password.
    """
    _check_may_manage(by, role)
    user = User.objects.filter(email=email_of(email)).first()
    initial = None
    if user is None:
        initial = None if password else secrets.token_urlsafe(12)
        user = user_create(email=email, name=name, password=password or initial or "")
    elif password:
        raise ConflictError("password: the person has one already; leave it out", field="password")
    membership, created = Membership.objects.get_or_create(
        organization=organization, user=user, defaults={"role": role}
    )
    if not created:
        raise ConflictError(f"email: {user.email} is a member already", field="email")
    return membership, initial


@transaction.atomic
def member_update(
    *, organization: Organization, by: Role, membership_id: int, role: Role
) -> Membership:
    """Give a member another role; the latest owner stays one."""
    membership = _locked(organization, membership_id)
    _check_may_manage(by, Role(membership.role))
    _check_may_manage(by, role)
    if role is not Role.OWNER:
        _check_owner_remains(membership)
    membership.role = role
    membership.save(update_fields=["role"])
    member_tell(organization, membership.user_id)
    return membership


@transaction.atomic
def member_remove(
    *, organization: Organization, by: Role, by_user: User | None, membership_id: int
) -> None:
    """Remove a member; anybody may leave, except the last owner."""
    membership = _locked(organization, membership_id)
    if by_user is None or membership.user_id != by_user.pk:
        _check_may_manage(by, Role(membership.role))
    _check_owner_remains(membership)
    membership.delete()
    member_tell(organization, membership.user_id)


def _locked(organization: Organization, membership_id: int) -> Membership:
    # Two owners who remove each other at the same moment wait for one another here.
    Organization.objects.select_for_update().get(pk=organization.pk)
    found = (
        Membership.objects.select_related("user")
        .filter(organization=organization, pk=membership_id)
        .first()
    )
    if found is None:
        raise NotFoundError(f"There is no member {membership_id}")
    return found


def _check_may_manage(by: Role, role: Role) -> None:
    if not by.may_manage(role):
        raise ForbiddenError(f"The role {by.value} may not manage the role {role.value}")


def _check_owner_remains(membership: Membership) -> None:
    if membership.role != Role.OWNER:
        return
    others = Membership.objects.filter(
        organization=membership.organization_id, role=Role.OWNER
    ).exclude(pk=membership.pk)
    if not others.exists():
        raise ConflictError("An organization keeps at least one owner")
