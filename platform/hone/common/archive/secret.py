"""The secret key in an archive: left out, plain, or sealed with a passphrase."""

import os
from pathlib import Path
from zipfile import ZipFile

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from django.conf import settings

from hone.common import crypto
from hone.common.errors import InvalidError

PLAIN, SEALED, NONE = "plain", "sealed", "none"
MEMBER = "secret.key"
SALT_LEN = 16
SCRYPT_COST = 2**15  # 32 MB and about 0.1 s a guess


def fingerprint(secret_key: str | None = None) -> str:
    """A short mark of a secret key that tells whether two are the same, and nothing more."""
    return crypto.keyed_hash("fingerprint", "hone", secret_key=secret_key)[:16]


def _cipher(passphrase: str, salt: bytes) -> AESGCM:
    return AESGCM(Scrypt(salt=salt, length=32, n=SCRYPT_COST, r=8, p=1).derive(passphrase.encode()))


def put(archive: ZipFile, kind: str, passphrase: str = "") -> None:
    """Write the present secret key into the archive as `kind` says."""
    secret = settings.SECRET_KEY.encode()
    if kind == SEALED:
        salt, nonce = os.urandom(SALT_LEN), os.urandom(crypto.NONCE_LEN)
        secret = salt + nonce + _cipher(passphrase, salt).encrypt(nonce, secret, None)
    if kind != NONE:
        archive.writestr(MEMBER, secret)


def get(archive: ZipFile, kind: str, passphrase: str = "") -> str:
    """The secret key of an archive that holds one; raises InvalidError for a wrong passphrase."""
    raw = archive.read(MEMBER)
    if kind == PLAIN:
        return raw.decode()
    salt, nonce, sealed = (
        raw[:SALT_LEN],
        raw[SALT_LEN : SALT_LEN + crypto.NONCE_LEN],
        raw[SALT_LEN + crypto.NONCE_LEN :],
    )
    try:
        return _cipher(passphrase, salt).decrypt(nonce, sealed, None).decode()
    except InvalidTag:
        raise InvalidError(
            "HONE_BACKUP_PASSPHRASE does not open the secret key of this archive"
        ) from None


def install(secret_key: str, path: Path) -> None:
    """Make `path` hold the secret key (mode 0600); an older file stays beside it as `….old`."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(secret_key)
    if path.exists():
        path.replace(path.with_name(f"{path.name}.old"))
    new.replace(path)
