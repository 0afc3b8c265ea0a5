"""Tokens that let a Yjs client without a cookie into one draft."""

from typing import Final

SALT: Final = "hone.collab.room"
TOKEN_S: Final = 60  # a token is for the way to the door; inside, the role is what counts
