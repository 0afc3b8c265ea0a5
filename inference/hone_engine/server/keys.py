"""Bearer keys."""

import hmac

from starlette.requests import Request

from hone_engine.server.errors import ApiError


def check_key(request: Request, key: str) -> None:
    """Pass when the request carries `key` as its bearer token, else raise ApiError 401."""
    scheme, _, found = request.headers.get("authorization", "").partition(" ")
    given = found.strip().encode("utf-8", "surrogateescape")
    if scheme.lower() == "bearer" and hmac.compare_digest(given, key.encode()):
        return
    raise ApiError(
        401,
        "Incorrect API key provided." if given else "You didn't provide an API key.",
        code="invalid_api_key",
        headers={"www-authenticate": "Bearer"},
    )
