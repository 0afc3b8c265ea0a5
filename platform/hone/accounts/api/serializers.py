"""Bodies of the accounts endpoints."""

from rest_framework import serializers

from hone.accounts.core.roles import Role
from hone.common.schema import Body

ROLES = [role.value for role in Role]
PASSWORD_LEN = 1024


class SignIn(Body):
    email = serializers.CharField(max_length=254)
    password = serializers.CharField(max_length=PASSWORD_LEN, trim_whitespace=False)


class PasswordChange(Body):
    current = serializers.CharField(max_length=PASSWORD_LEN, trim_whitespace=False)
    new = serializers.CharField(max_length=PASSWORD_LEN, trim_whitespace=False)


class UserBody(Body):
    id = serializers.IntegerField()
    email = serializers.CharField()
    name = serializers.CharField()


class OrganizationBody(Body):
    slug = serializers.CharField()
    name = serializers.CharField()


class OrganizationRole(OrganizationBody):
    role = serializers.ChoiceField(choices=ROLES)


class ProjectBody(Body):
    slug = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(choices=ROLES)
    organization = OrganizationBody()


class Me(Body):
    user = UserBody(allow_null=True)
    projects = ProjectBody(many=True)


class OrganizationCreate(Body):
    name = serializers.CharField(max_length=120)
    slug = serializers.CharField(max_length=50, required=False)


class ProjectCreate(Body):
    name = serializers.CharField(max_length=120)
    slug = serializers.CharField(max_length=50, required=False)
    organization = serializers.CharField(
        max_length=50, required=False, help_text="Slug; by default the first one you administer"
    )


class ProjectUpdate(Body):
    name = serializers.CharField(max_length=120)


class KeyCreate(Body):
    name = serializers.CharField(max_length=120)


class KeyBody(Body):
    id = serializers.IntegerField()
    name = serializers.CharField()
    public_key = serializers.CharField()
    secret_hint = serializers.CharField()
    created_at = serializers.DateTimeField()
    latest_used_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class KeyCreated(KeyBody):
    secret_key = serializers.CharField(help_text="Shown in this answer only")


class MemberCreate(Body):
    email = serializers.CharField(max_length=254)
    name = serializers.CharField(max_length=120, required=False, allow_blank=True)
    role = serializers.ChoiceField(choices=ROLES)
    password = serializers.CharField(
        max_length=PASSWORD_LEN,
        required=False,
        trim_whitespace=False,
        help_text="For a person who is new here; left out, one is made up and answered once",
    )


class MemberUpdate(Body):
    role = serializers.ChoiceField(choices=ROLES)


class MemberBody(Body):
    id = serializers.IntegerField()
    email = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(choices=ROLES)
    created_at = serializers.DateTimeField()


class MemberCreated(MemberBody):
    initial_password = serializers.CharField(allow_null=True, help_text="Shown here only")
