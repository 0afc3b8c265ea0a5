"""Tokens that let a Yjs client without a cookie into one draft, on the sign-in of a person."""

from dataclasses import dataclass
from typing import Any

from django.core import signing

from hone.collab.core.tokens import SALT, TOKEN_S
from hone.common import crypto
from hone.common.errors import NotFoundError, UnauthenticatedError


@dataclass(frozen=True, slots=True)
class Ticket:
    """Whose token it is, and the session that it came from: it ends with that."""

    user_id: int
    session: str


def token_made(ticket: Ticket, draft: object) -> str:
    """A token for one draft; nobody reads the session in it."""
    sealed = crypto.encrypt(SALT, ticket.session)
    facts = {"user": ticket.user_id, "draft": str(draft), "session": sealed}
    return signing.dumps(facts, salt=SALT)


def ticket_read(token: str, draft: str) -> Ticket:
    """What a token says of its holder; raises UnauthenticatedError, NotFoundError."""
    try:
        found: Any = signing.loads(token, salt=SALT, max_age=TOKEN_S)
    except signing.BadSignature:
        raise UnauthenticatedError("The token is not valid, or older than a minute") from None
    if found["draft"] != draft:
        raise NotFoundError("The token is for another draft")
    try:
        return Ticket(int(found["user"]), crypto.decrypt(SALT, found["session"]))
    except (KeyError, crypto.DecryptError):
        raise UnauthenticatedError("The token is not valid") from None
