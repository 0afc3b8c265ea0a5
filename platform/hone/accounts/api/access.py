"""Base class of every endpoint below /api/projects/{project}."""

from typing import Any, ClassVar

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.views import APIView

from hone.accounts.core.roles import Role
from hone.accounts.models import ApiKey, User
from hone.accounts.selectors import Access, access_of_key, access_of_user
from hone.common.errors import ForbiddenError


def access_for(request: Request, project_slug: str) -> Access:
    """The requester's access to the project; raises NotFoundError for whoever is outside."""
    if isinstance(request.auth, ApiKey):
        return access_of_key(request.auth, project_slug)
    assert isinstance(request.user, User)
    return access_of_user(request.user, project_slug)


def person(request: Request) -> User:
    """The signed-in person; raises ForbiddenError for a program with a key."""
    if not isinstance(request.user, User):
        raise ForbiddenError("An API key cannot do this; sign in")
    return request.user


class ProjectView(APIView):
    """An endpoint of one project; its URL pattern captures `project`, the slug.

    `roles` names the role that a method needs: `viewer` reads and `member` writes unless it says
    otherwise. When a handler runs, `self.access` is set and the role is checked.
    """

    roles: ClassVar[dict[str, Role]] = {}
    access: Access

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.access = access_for(request, kwargs["project"])
        method = request.method or "GET"
        usual = Role.VIEWER if method in SAFE_METHODS else Role.MEMBER
        self.access.require(self.roles.get(method, usual))
