"""Secrets at rest: keyed hashes for what is only compared, AES-GCM for what is used again.

All keys are derived from HONE_SERVER_SECRET, one a purpose (HKDF-SHA256, RFC 5869).
"""

import base64
import hashlib
import hmac
import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

VERSION = "v1"
NONCE_LEN = 12  # bytes, as NIST SP 800-38D wants it


class DecryptError(ValueError):
    """The text was encrypted with another secret, for another purpose, or is damaged."""


@lru_cache(maxsize=32)
def _derive(secret: str, purpose: str) -> bytes:
    pseudo_random = hmac.digest(b"hone", secret.encode(), hashlib.sha256)
    return hmac.digest(pseudo_random, purpose.encode() + b"\x01", hashlib.sha256)


def keyed_hash(purpose: str, text: str, *, secret_key: str | None = None) -> str:
    """HMAC-SHA256 of `text` under the key of `purpose`: 64 hex digits.

    `secret_key` stands in for HONE_SERVER_SECRET where another installation's is meant.
    """
    key = _derive(secret_key or settings.SECRET_KEY, purpose)
    return hmac.digest(key, text.encode(), hashlib.sha256).hex()


def encrypt(purpose: str, text: str) -> str:
    """`text` encrypted for `purpose`; only `decrypt` with the same purpose reads it."""
    nonce = os.urandom(NONCE_LEN)
    sealed = AESGCM(_derive(settings.SECRET_KEY, purpose)).encrypt(
        nonce, text.encode(), purpose.encode()
    )
    return f"{VERSION}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"


def decrypt(purpose: str, sealed: str) -> str:
    """The text that `encrypt` was given; raises DecryptError."""
    try:
        version, _, encoded = sealed.partition(".")
        raw = base64.urlsafe_b64decode(encoded)
        if version != VERSION:
            raise DecryptError(f"sealed text: got version {version!r}, want {VERSION!r}")
        key = AESGCM(_derive(settings.SECRET_KEY, purpose))
        return key.decrypt(raw[:NONCE_LEN], raw[NONCE_LEN:], purpose.encode()).decode()
    except (InvalidTag, ValueError) as error:
        raise DecryptError(f"sealed text for {purpose!r} cannot be opened: {error}") from error
