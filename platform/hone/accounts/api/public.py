"""Base of every endpoint below /api/public, and the two that say whose key it is.

These speak the API of Langfuse, so that programs made for it work unchanged. A key names its
project; no address does.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rest_framework.permissions import SAFE_METHODS, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hone.accounts.api.authentication import KeyAuthentication
from hone.accounts.core.roles import Role
from hone.accounts.models import ApiKey, Project
from hone.accounts.selectors import Access, access_of_key
from hone.common.public import error_body
from hone.common.rest import as_hone_error


def public_response(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """As `rest.exception_response`, in the shape of the public API."""
    problem = as_hone_error(error)
    if problem is None:
        return None
    return Response(error_body(problem), status=problem.status, headers=problem.headers())


class BasicKeyAuthentication(KeyAuthentication):
    def authenticate_header(self, request: Request) -> str:
        return 'Basic realm="hone"'


class PublicView(APIView):
    """An endpoint for programs: `self.project` is the one that the key opens.

    Every query must name `self.project`: nothing in the address does.
    """

    authentication_classes = (BasicKeyAuthentication,)
    permission_classes = (IsAuthenticated,)
    schema = None  # not part of our own API's description
    access: Access

    @property
    def project(self) -> Project:
        return self.access.project

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        assert isinstance(request.auth, ApiKey)
        self.access = access_of_key(request.auth, request.auth.project.slug)
        self.access.require(Role.VIEWER if request.method in SAFE_METHODS else Role.MEMBER)

    def get_exception_handler(self) -> Callable[..., Response | None]:
        return public_response


class PublicProjects(PublicView):
    """The project of the key; clients take its id for links and check their key here."""

    def get(self, request: Request) -> Response:
        organization = self.project.organization
        body = {
            "id": self.project.slug,
            "name": self.project.name,
            "organization": {"id": organization.slug, "name": organization.name},
            "metadata": {},
            "retentionDays": None,
        }
        return Response({"data": [body]})
