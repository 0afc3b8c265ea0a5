"""HTTP clients for model servers: pooled, one an event loop, and kept off the inner network."""

import asyncio
import socket
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import httpcore
import httpx
from django.conf import settings

from hone.gateway.core.addresses import is_public

CONNECT_TIMEOUT_S = 5.0
POOL_TIMEOUT_S = 5.0
LIMITS = httpx.Limits(max_connections=600, max_keepalive_connections=64, keepalive_expiry=20.0)

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[bool, httpx.AsyncClient]] = (
    WeakKeyDictionary()
)


class PublicBackend(httpcore.AsyncNetworkBackend):
    """Connects to public addresses only, and to the very address that was checked.

    The name is resolved here and nowhere else, so that a second answer of the name server cannot
    lead elsewhere (DNS rebinding).
    """

    def __init__(self) -> None:
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(f"{host} cannot be resolved: {error}") from error
        addresses = [str(row[4][0]) for row in found]
        if not addresses or not all(map(is_public, addresses)):
            raise httpcore.ConnectError(
                f"{host} is an address of the inner network, which this installation does not call"
            )
        return await self._inner.connect_tcp(
            addresses[0], port, timeout, local_address, socket_options
        )

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore.AsyncNetworkStream:
        raise httpcore.ConnectError("Unix sockets are not called")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _transport(*, guarded: bool) -> httpx.AsyncHTTPTransport:
    transport = httpx.AsyncHTTPTransport(limits=LIMITS)
    if guarded:
        # httpx has no public way to hand a network backend to its pool.
        transport._pool._network_backend = PublicBackend()
    return transport


def client_new(is_local: bool) -> httpx.AsyncClient:
    """A client for the local engine, or for addresses that people typed in."""
    guarded = not is_local and not settings.HONE_ALLOW_PRIVATE_CONNECTIONS
    timeout = httpx.Timeout(
        settings.HONE_GATEWAY_READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S, pool=POOL_TIMEOUT_S
    )
    return httpx.AsyncClient(
        transport=_transport(guarded=guarded),
        timeout=timeout,
        follow_redirects=False,  # a redirect could lead to the inner network with the key
        trust_env=False,
    )


def client_for(is_local: bool, *, pooled: bool = True) -> httpx.AsyncClient:
    """The running event loop's client; with `pooled` false a new one that the caller closes."""
    if not pooled:
        return client_new(is_local)
    by_kind = _clients.setdefault(asyncio.get_running_loop(), {})
    if is_local not in by_kind:
        by_kind[is_local] = client_new(is_local)
    return by_kind[is_local]


async def clients_close() -> None:
    """Close the running event loop's clients, before the loop itself ends."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.aclose()
