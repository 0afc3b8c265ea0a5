"""Rows as the JSON that clients get."""

from typing import Any

from hone.accounts.models import ApiKey, Membership, Organization, Project, User


def user_body(user: User) -> dict[str, Any]:
    return {"id": user.pk, "email": user.email, "name": user.name}


def organization_body(organization: Organization) -> dict[str, Any]:
    return {"slug": organization.slug, "name": organization.name}


def project_body(project: Project, role: str) -> dict[str, Any]:
    return {
        "slug": project.slug,
        "name": project.name,
        "role": str(role),
        "organization": organization_body(project.organization),
    }


def key_body(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.pk,
        "name": key.name,
        "public_key": key.public_key,
        "secret_hint": key.secret_hint,
        "created_at": key.created_at,
        "latest_used_at": key.latest_used_at,
        "revoked_at": key.revoked_at,
    }


def member_body(membership: Membership) -> dict[str, Any]:
    return {
        "id": membership.pk,
        "email": membership.user.email,
        "name": membership.user.name,
        "role": membership.role,
        "created_at": membership.created_at,
    }
