"""Writes: sign-in, organizations, members, projects, keys."""

from hone.accounts.services.bootstrap import Bootstrapped, bootstrap
from hone.accounts.services.keys import (
    KeyScope,
    api_key_create,
    api_key_revoke,
    key_named,
    key_resolve,
    key_resolve_async,
)
from hone.accounts.services.members import (
    member_add,
    member_remove,
    member_update,
    password_change,
)
from hone.accounts.services.projects import (
    organization_create,
    project_create,
    project_delete,
    project_update,
)
from hone.accounts.services.sessions import others_signed_out, session_user, sign_in, sign_out

__all__ = [
    "Bootstrapped",
    "KeyScope",
    "api_key_create",
    "api_key_revoke",
    "bootstrap",
    "key_named",
    "key_resolve",
    "key_resolve_async",
    "member_add",
    "member_remove",
    "member_update",
    "organization_create",
    "others_signed_out",
    "password_change",
    "project_create",
    "project_delete",
    "project_update",
    "session_user",
    "sign_in",
    "sign_out",
]
