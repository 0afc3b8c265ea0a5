"""Read the process environment into what Django and Celery want."""

import os
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


class SettingError(ValueError):
    """An environment variable has a value that Hone cannot use."""


def text(name: str, default: str = "") -> str:
    """The variable `name`, or `default` where it is unset or empty."""
    return os.environ.get(name) or default


def names(name: str, default: str = "") -> list[str]:
    """The comma-separated variable `name` as a list without blanks."""
    return [part.strip() for part in text(name, default).split(",") if part.strip()]


def flag(name: str, default: bool = False) -> bool:
    """The variable `name` as a truth value: 1, true, yes, on | 0, false, no, off."""
    value = text(name).lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    if value:
        raise SettingError(f"{name}: got {value!r}, want 1 or 0")
    return default


def database(url: str) -> dict[str, Any]:
    """Django's database settings for a `postgresql://user:password@host:port/name?host=/socket`.

    Raises SettingError for another scheme or a missing database name.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise SettingError(f"DATABASE_URL: got scheme {parts.scheme!r}, want postgresql://")
    options = dict(parse_qsl(parts.query))
    name = unquote(parts.path.lstrip("/")) or options.pop("dbname", "")
    if not name:
        raise SettingError("DATABASE_URL: the database name is missing")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or options.pop("user", "")),
        "PASSWORD": unquote(parts.password or options.pop("password", "")),
        "HOST": options.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": str(parts.port or options.pop("port", "")),
        "OPTIONS": dict(options),
    }


def broker(url: str) -> str:
    """Celery's spelling of a Redis URL: `unix:///path?db=0` is `redis+socket:///path?virtual_host=0`."""
    if not url.startswith("unix://"):
        return url
    parts = urlsplit(url)
    number = dict(parse_qsl(parts.query)).get("db", "0")
    return f"redis+socket://{parts.path}?virtual_host={number}"
