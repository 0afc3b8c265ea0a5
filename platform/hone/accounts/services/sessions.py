"""Signing in and out. Answers take the same time and words whether the email is known or not."""

from importlib import import_module

from django.conf import settings
from django.contrib.auth import authenticate, get_user, login, logout
from django.http import HttpRequest

from hone.accounts.core.names import email_of
from hone.accounts.models import User
from hone.accounts.services.rights import signed_out_tell
from hone.common import broker, crypto
from hone.common.errors import ThrottledError, UnauthenticatedError, UnavailableError


def _attempts_key(address: str, email: str) -> str:
    return broker.key("sign-in", crypto.keyed_hash("sign-in", f"{address} {email}"))


def _count_attempt(key: str) -> None:
    """Count a try; raises ThrottledError when there were too many lately."""
    try:
        pipe = broker.client().pipeline()
        pipe.incr(key)
        pipe.expire(key, settings.HONE_LOGIN_WINDOW_S, nx=True)
        pipe.ttl(key)
        tries, _, seconds = pipe.execute()
    except broker.ERRORS:
        # Without the count anybody could try passwords without end.
        raise UnavailableError("Signing in is not possible while the broker is down") from None
    if tries > settings.HONE_LOGIN_ATTEMPTS:
        raise ThrottledError(
            f"Too many tries to sign in; come back in {seconds} s", retry_after_s=max(1, seconds)
        )


def sign_in(request: HttpRequest, *, email: str, password: str) -> User:
    """Open a session for the person; raises UnauthenticatedError, ThrottledError."""
    email = email_of(email)
    key = _attempts_key(request.META.get("REMOTE_ADDR", ""), email)
    _count_attempt(key)
    # Django hashes the password also where the email is unknown.
    user = authenticate(request, username=email, password=password)
    if not isinstance(user, User):
        raise UnauthenticatedError("The email or the password is wrong")
    login(request, user)
    broker.client().delete(key)
    return user


def sign_out(request: HttpRequest) -> None:
    """End the session; whatever it holds open is closed."""
    user = request.user
    logout(request)
    if isinstance(user, User):
        signed_out_tell(user)


def others_signed_out(request: HttpRequest, user: User) -> None:
    """The person's other sign-ins have ended, this one goes on: tell what they hold open."""
    request.session.save()  # or this one would look like those
    signed_out_tell(user)


def session_user(key: str) -> User | None:
    """Whose sign-in a session is; None where it has ended."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    user = get_user(request)
    return user if isinstance(user, User) and user.is_active else None
