"""Small questions to the running product, with the standard library only."""

import http.client
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and decoded body of one HTTP answer; status 0 when nobody answered."""

    status: int
    body: Any
    headers: dict[str, str]


def ask(
    base_url: str,
    path: str,
    *,
    method: str = "GET",
    secret: str | None = None,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 5.0,
) -> Answer:
    """One HTTP request to Hone; a refused or broken connection gives status 0."""
    parts = urlsplit(base_url)
    sent = {"Content-Type": "application/json", **(headers or {})}
    if secret:
        sent["Authorization"] = f"Bearer {secret}"
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "127.0.0.1", parts.port, timeout=timeout_s)
    try:
        payload = None if body is None else json.dumps(body)
        connection.request(method, parts.path.rstrip("/") + path, payload, sent)
        response = connection.getresponse()
        raw = response.read()
        found = {key.lower(): value for key, value in response.getheaders()}
        return Answer(response.status, _decoded(raw), found)
    except (OSError, http.client.HTTPException) as error:
        return Answer(0, str(error), {})
    finally:
        connection.close()


def _decoded(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")


def port_problem(host: str, port: int) -> str | None:
    """Why this address cannot be listened on, None when it can."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(address)
    except OSError as error:
        return error.strerror or str(error)
    return None
