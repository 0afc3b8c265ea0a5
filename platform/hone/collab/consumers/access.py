"""Who may enter a room."""

import uuid
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from hone.accounts.api.scope import access_of_scope
from hone.accounts.models import User
from hone.accounts.selectors import Access, access_of_user
from hone.accounts.services import session_user
from hone.collab.selectors import draft_get
from hone.collab.services.tickets import Ticket, ticket_read
from hone.common.asgi import Scope, headers
from hone.common.errors import ForbiddenError, UnauthenticatedError

RECHECK_S: Final = 60.0  # a change of members is told at once


@dataclass(slots=True)
class Entrance:
    """What came with a request to enter; `ticket` once a token was good."""

    scope: Scope
    draft: str
    token: str
    ticket: Ticket | None = None

    @property
    def draft_id(self) -> uuid.UUID:
        return uuid.UUID(self.draft)


def access_of_room(entrance: Entrance) -> Access:
    """The person's access to the draft's project; raises HoneError where there is none."""
    draft = draft_get(entrance.draft)
    entrance.draft = str(draft.pk)
    slug = draft.project.slug
    if entrance.token:
        return access_of_user(_user_of_token(entrance), slug)
    _check_origin(entrance.scope)
    return access_of_scope({**entrance.scope, "type": "http", "method": "GET"}, slug)


def _user_of_token(entrance: Entrance) -> User:
    if entrance.ticket is None:
        entrance.ticket = ticket_read(entrance.token, entrance.draft)
    user = session_user(entrance.ticket.session)
    if user is None or user.pk != entrance.ticket.user_id:
        raise UnauthenticatedError("The sign-in that the token came from has ended")
    return user


def _check_origin(scope: Scope) -> None:
    """A page of another site may not use the visitor's cookie."""
    given = headers(scope)
    origin = given.get("origin")
    if origin is None or "authorization" in given:
        return
    known = {given.get("host", ""), urlsplit(settings.HONE_URL).netloc}
    if urlsplit(origin).netloc not in known:
        raise ForbiddenError(f"Pages of {origin[:80]!r} may not open this room")
