"""Who asks: a signed-in person (session and CSRF token) or a program with a key."""

import base64
import binascii
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from hone.accounts.core.keys import SECRET_PREFIX
from hone.accounts.models import ApiKey
from hone.accounts.services import key_resolve


class KeyUser:
    """Stands as `request.user` where a program asks; `request.auth` is its ApiKey."""

    is_authenticated = True
    is_anonymous = False
    is_active = True
    pk = None


def credentials(header: str) -> tuple[str, str | None] | None:
    """(secret, public or None) from `Bearer SECRET` or `Basic PUBLIC:SECRET`, None for others."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip(), None
    if scheme.lower() != "basic":
        return None
    try:
        public, _, secret = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", None
    # Some clients have one field only and put the secret into it.
    return (public, None) if not secret and public.startswith(SECRET_PREFIX) else (secret, public)


class KeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[KeyUser, ApiKey] | None:
        found = credentials(request.headers.get("Authorization", ""))
        if found is None:
            return None
        scope = key_resolve(*found)
        key = (
            ApiKey.objects.select_related("project__organization").filter(pk=scope.key_id).first()
            if scope
            else None
        )
        if key is None:
            raise AuthenticationFailed("The API key is unknown or revoked")
        return KeyUser(), key

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="hone"'


class SignedInAuthentication(SessionAuthentication):
    def authenticate_header(self, request: Request) -> str:
        # Makes DRF answer 401, not 403, where nobody is signed in.
        return 'Session realm="hone"'


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = KeyAuthentication
    name = ["bearerKey", "basicKey"]  # noqa: RUF012  (drf-spectacular reads a list)

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [
            {"type": "http", "scheme": "bearer", "description": "Secret key of a project"},
            {"type": "http", "scheme": "basic", "description": "Public key and secret key"},
        ]


class SignedInScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = SignedInAuthentication
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "hone_session"}
