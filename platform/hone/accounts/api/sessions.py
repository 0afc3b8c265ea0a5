"""Sign-in, sign-out, and who is asking."""

from typing import Any

from django.contrib.auth import update_session_auth_hash
from django.middleware.csrf import get_token
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hone.accounts.api import serializers
from hone.accounts.api.access import person
from hone.accounts.api.encode import project_body, user_body
from hone.accounts.models import ApiKey, User
from hone.accounts.selectors import projects_of
from hone.accounts.services import others_signed_out, password_change, sign_in, sign_out
from hone.common.errors import UnauthenticatedError
from hone.common.schema import read


def projects_for(user: User) -> list[dict[str, Any]]:
    """All projects that the person may see, with the role in each."""
    return [
        project_body(project, membership.role)
        for membership in projects_of(user)
        for project in sorted(membership.organization.projects.all(), key=lambda p: p.slug)
    ]


def me(user: User) -> dict[str, Any]:
    return {"user": user_body(user), "projects": projects_for(user)}


@method_decorator(csrf_protect, name="dispatch")
class Login(APIView):
    """Open a session. Get the CSRF token first: GET auth/me sets it as a cookie."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(request=serializers.SignIn, responses=serializers.Me)
    def post(self, request: Request) -> Response:
        return Response(me(sign_in(request._request, **read(serializers.SignIn, request))))


class Logout(APIView):
    permission_classes = (AllowAny,)

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        sign_out(request._request)
        return Response(status=204)


class WhoAmI(APIView):
    """The person signed in, or for a key its project; sets the CSRF cookie in any case."""

    permission_classes = (AllowAny,)

    @extend_schema(responses=serializers.Me)
    def get(self, request: Request) -> Response:
        get_token(request._request)
        if isinstance(request.auth, ApiKey):
            return Response(
                {"user": None, "projects": [project_body(request.auth.project, "member")]}
            )
        if not isinstance(request.user, User):
            raise UnauthenticatedError("Nobody is signed in")
        return Response(me(request.user))


class Password(APIView):
    @extend_schema(request=serializers.PasswordChange, responses={204: None})
    def post(self, request: Request) -> Response:
        user = person(request)
        password_change(user=user, **read(serializers.PasswordChange, request))
        update_session_auth_hash(request._request, user)  # this sign-in stays
        others_signed_out(request._request, user)
        return Response(status=204)
