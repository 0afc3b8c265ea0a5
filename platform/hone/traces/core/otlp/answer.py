"""What an OTLP/HTTP client is answered, in the encoding in which it asked."""

from collections.abc import Sequence
from typing import Final

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

JSON: Final = "application/json"
PROTOBUF: Final = "application/x-protobuf"
_REASONS: Final = 5  # told of the refused spans
_GRPC_CODES: Final = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 413: 8, 415: 3, 429: 8, 503: 14}
_UNKNOWN: Final = 2


def exported(refused: Sequence[str], *, is_json: bool) -> bytes:
    """An ExportTraceServiceResponse; with refused spans a partial success that says why."""
    reasons = "; ".join(refused[:_REASONS])
    if len(refused) > _REASONS:
        reasons += f"; and {len(refused) - _REASONS} more"
    if is_json:
        partial = {"rejectedSpans": str(len(refused)), "errorMessage": reasons}
        return orjson.dumps({"partialSuccess": partial} if refused else {})
    response = ExportTraceServiceResponse()
    if refused:
        response.partial_success.CopyFrom(
            ExportTracePartialSuccess(rejected_spans=len(refused), error_message=reasons)
        )
    return response.SerializeToString()


def failed(http_status: int, message: str, *, is_json: bool) -> bytes:
    """A google.rpc.Status, which OTLP wants in the body of a failure."""
    code = _GRPC_CODES.get(http_status, _UNKNOWN)
    if is_json:
        return orjson.dumps({"code": code, "message": message})
    text = message.encode("utf-8", "replace")
    return b"\x08" + _varint(code) + b"\x12" + _varint(len(text)) + text


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
