"""Names of datasets and runs."""

from typing import Final

from hone.common.errors import InvalidError

NAME_LEN: Final = 255
ID_BYTES: Final = 2000  # what an index of the database takes, with room to spare


def name_clean(name: str, field: str = "name") -> str:
    """The name, which may hold `/` for folders; raises InvalidError."""
    if not 1 <= len(name) <= NAME_LEN or not name.isprintable() or name != name.strip():
        raise InvalidError(f"{field}: want 1 to {NAME_LEN} printable characters", field=field)
    if any(part.strip() in {"", ".", ".."} for part in name.split("/")):
        raise InvalidError(f"{field}: a folder or the end of {name!r} is empty", field=field)
    return name


def key_clean(key: str, field: str = "id") -> str:
    """An id that a client chose; raises InvalidError."""
    if not is_key(key) or "\r" in key or "\x00" in key:
        raise InvalidError(f"{field}: want 1 to {ID_BYTES} bytes", field=field)
    return key


def is_key(key: str) -> bool:
    """Whether an index takes it."""
    return 1 <= len(key.encode("utf-8", "surrogatepass")) <= ID_BYTES
