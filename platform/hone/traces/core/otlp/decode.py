"""One door for both encodings."""

from hone.traces.core.otlp.json_body import decode_json
from hone.traces.core.otlp.protobuf import decode_protobuf
from hone.traces.core.otlp.raw import Decoded


def decode(body: bytes, *, is_json: bool, now_ns: int) -> Decoded:
    """The spans of an OTLP export; `now_ns` stands in where a span names no time at all.

    Raises Malformed when the body as a whole cannot be read.
    """
    return decode_json(body, now_ns) if is_json else decode_protobuf(body, now_ns)
