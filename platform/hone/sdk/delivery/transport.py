"""HTTP with the standard library: one connection that is kept, used by one thread at a time.

The base install stays small, and no instrumentation of an HTTP library traces our own calls.
"""

import contextlib
import http.client
import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final
from urllib.parse import urlsplit

# Looking a host up imports this codec. A process that forks while our thread does so would leave
# its child with a locked import, and the child's first request would wait for good.
"localhost".encode("idna")

MAX_REPLY_BYTES: Final = 16 * 1024 * 1024
Connection = http.client.HTTPConnection


def sdk_version() -> str:
    """The installed version, "0" from a checkout."""
    try:
        return version("hone-llm")
    except PackageNotFoundError:
        return "0"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; status 0 where nobody answered, `body` then says why."""

    status: int
    body: bytes = b""
    retry_after_s: float | None = None

    @property
    def is_ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (0, 408, 425, 429, 500, 502, 503, 504)

    def json(self) -> Any:
        """The body as JSON; None where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def said(self) -> str:
        """What to print about a failure."""
        text = self.body[:300].decode("utf-8", "replace").strip()
        return f"{self.status or 'no answer'}: {text}" if text else f"{self.status}"


class Transport:
    """Requests to one server with one key."""

    def __init__(self, url: str, authorization: str, timeout_s: float) -> None:
        self._parts = urlsplit(url)
        self._headers = {"Authorization": authorization, "User-Agent": f"hone-sdk/{sdk_version()}"}
        self._timeout_s = timeout_s
        self._connection: Connection | None = None
        self._is_busy = False

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request. A kept connection that the server has closed meanwhile is made anew."""
        is_kept = self._connection is not None
        self._is_busy = True
        try:
            return self._ask(method, path, body, headers or {})
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            if is_kept and isinstance(error, ConnectionError | http.client.HTTPException):
                return self.ask(method, path, body, headers)
            return Reply(0, f"{type(error).__name__}: {error}".encode())
        finally:
            self._is_busy = False

    def close(self) -> None:
        """Let go of the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.close()

    def forked(self) -> None:
        """In a new child: the connection is its parent's.

        Where the parent's thread was just reading, its buffer is locked for good: closing it
        would hang. The frames of that thread are never freed here, and keep it from being closed.
        """
        if self._is_busy:
            self._connection, self._is_busy = None, False
        else:
            self.close()

    def _ask(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
        if self._connection is None:
            self._connection, self._prefix = _connect(self._parts, self._timeout_s)
        target = self._prefix + self._parts.path.rstrip("/") + path
        self._connection.request(method, target, body, {**self._headers, **headers})
        answer = self._connection.getresponse()
        said = answer.read(MAX_REPLY_BYTES)
        if answer.will_close or answer.read(1):
            self.close()
        return Reply(answer.status, said, _seconds(answer.getheader("Retry-After")))


def _connect(parts: Any, timeout_s: float) -> tuple[Connection, str]:
    """A connection, through the proxy that the environment names, and what goes before a path."""
    is_secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
    proxy = None
    if not urllib.request.proxy_bypass(parts.hostname):
        proxy = urllib.request.getproxies().get(parts.scheme)
    if not proxy:
        return kind(parts.hostname, parts.port, timeout=timeout_s), ""
    relay = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    connection = kind(relay.hostname or "", relay.port, timeout=timeout_s)
    if is_secure:
        connection.set_tunnel(parts.hostname, parts.port)
        return connection, ""
    return connection, f"{parts.scheme}://{parts.netloc}"


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else max(0.0, float(text))
    except ValueError:
        return None
