"""Which addresses the gateway may call: a connection must not open the inner network."""

import ipaddress
from urllib.parse import urlsplit

from hone.gateway.core.errors import invalid

MAX_URL_LEN = 500


def base_url_clean(url: object) -> str:
    """A connection's base URL without trailing slash; raises GatewayError (400)."""
    if not isinstance(url, str) or not 0 < len(url.strip()) <= MAX_URL_LEN:
        raise invalid(f"base_url: want a URL of at most {MAX_URL_LEN} characters", "base_url")
    text = url.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise invalid(f"base_url: {error}", "base_url") from None
    if parts.scheme not in ("http", "https") or not host:
        raise invalid("base_url: want http:// or https:// and a host", "base_url")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise invalid("base_url: no credentials, query or fragment; use api_key", "base_url")
    return text


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet (not loopback, private, link-local)."""
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    checked = mapped or found
    return checked.is_global and not checked.is_multicast
