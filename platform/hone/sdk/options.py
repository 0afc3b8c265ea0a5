"""What `init` was told, checked once; environment variables fill in what was not said."""

import base64
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

Mask = Callable[[str], str]

log: Final = logging.getLogger("hone.sdk")
MAX_VALUE_LEN: Final = 1_000_000  # characters of one input, output or metadata
MAX_QUEUE_SPANS: Final = 20_000
MAX_QUEUE_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Where traces go, what stands on each, and how much memory may wait."""

    url: str
    public_key: str | None
    secret_key: str = field(repr=False)
    service: str | None = None
    environment: str | None = None
    release: str | None = None
    sample_rate: float = 1.0  # share of traces, decided at their root
    mask: Mask | None = None  # every text that leaves goes through it
    skip_paths: tuple[str, ...] = ()  # requests that the middleware does not trace
    max_value_len: int = MAX_VALUE_LEN
    max_queue_spans: int = MAX_QUEUE_SPANS
    max_queue_bytes: int = MAX_QUEUE_BYTES
    flush_interval_s: float = 1.0
    timeout_s: float = 10.0  # of one HTTP request
    exit_timeout_s: float = 5.0  # how long the end of the process may wait

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url: got {self.url!r}, want http://host:port or https://host")
        if not 0 <= self.sample_rate <= 1:
            raise ValueError(f"sample_rate: got {self.sample_rate}, want a number from 0 to 1")
        if min(self.max_value_len, self.max_queue_spans, self.max_queue_bytes) < 1:
            raise ValueError("max_value_len, max_queue_spans, max_queue_bytes: want at least 1")

    @property
    def authorization(self) -> str:
        """Value of the Authorization header."""
        if self.public_key is None:
            return f"Bearer {self.secret_key}"
        pair = f"{self.public_key}:{self.secret_key}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"

    @property
    def origin(self) -> str:
        """Scheme, host and port of Hone."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}".lower()


def from_environment(
    url: str | None,
    public_key: str | None,
    secret_key: str | None,
    environ: Mapping[str, str] = os.environ,
) -> tuple[str, str | None, str] | None:
    """Address, public key (may be missing) and secret key; None where address or secret is."""
    url = url or environ.get("HONE_URL")
    secret_key = secret_key or environ.get("HONE_SECRET_KEY")
    public_key = public_key or environ.get("HONE_PUBLIC_KEY")
    if not url or not secret_key:
        return None
    return url.rstrip("/"), public_key or None, secret_key


def labels(environ: Mapping[str, str] = os.environ) -> tuple[str | None, str | None]:
    """Environment and release, where the process was told."""
    return environ.get("HONE_ENVIRONMENT") or None, environ.get("HONE_RELEASE") or None
