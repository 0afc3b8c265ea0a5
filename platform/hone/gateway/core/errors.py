"""Failures of /v1 in OpenAI's shape: {"error": {"message", "type", "param", "code"}}."""

from typing import Any

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}


class GatewayError(Exception):
    """A refused or failed call; `status` is the HTTP status the client gets."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        kind: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.kind = kind or TYPES.get(status, "api_error")
        self.retry_after_s = retry_after_s

    def body(self) -> dict[str, Any]:
        """The JSON body of the answer."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error}

    def headers(self) -> dict[str, str]:
        """Extra headers of the answer."""
        found = {} if self.retry_after_s is None else {"retry-after": str(self.retry_after_s)}
        return found | ({"www-authenticate": "Bearer"} if self.status == 401 else {})


def invalid(message: str, param: str | None = None, code: str = "invalid_value") -> GatewayError:
    """400: the request is not what it should be."""
    return GatewayError(400, message, param=param, code=code)
