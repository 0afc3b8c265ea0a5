"""Reads: who is who and may do what."""

from hone.accounts.selectors.access import (
    Access,
    access_of_key,
    access_of_user,
    organization_administered,
    projects_of,
)

__all__ = ["Access", "access_of_key", "access_of_user", "organization_administered", "projects_of"]
