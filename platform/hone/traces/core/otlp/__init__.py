"""OTLP trace exports, protobuf and JSON, decoded into raw spans."""

from hone.traces.core.otlp.decode import decode
from hone.traces.core.otlp.raw import Decoded, Malformed, RawSpan, Scope

__all__ = ["Decoded", "Malformed", "RawSpan", "Scope", "decode"]
