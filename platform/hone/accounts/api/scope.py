"""Who asks, told from a raw ASGI scope as Django's own views would tell."""

from io import BytesIO

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from rest_framework.views import APIView

from hone.accounts.api.access import access_for
from hone.accounts.selectors import Access
from hone.common.asgi import Scope
from hone.common.errors import InvalidError, UnauthenticatedError


def access_of_scope(scope: Scope, project: str) -> Access:
    """The requester's access, by session or key; raises HoneError or what DRF raises."""
    request = ASGIRequest(scope, BytesIO())
    try:
        request.get_host()
    except DisallowedHost:
        raise InvalidError("This host name is not served here", field="host") from None
    SessionMiddleware(_nothing).process_request(request)
    AuthenticationMiddleware(_nothing).process_request(request)
    asked = APIView().initialize_request(request)
    if not asked.user.is_authenticated:
        raise UnauthenticatedError("Sign in, or send a key of the project")
    return access_for(asked, project)


def _nothing(_: HttpRequest) -> HttpResponse:
    return HttpResponse()
