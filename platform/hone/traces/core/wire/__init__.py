"""OTLP protobuf straight into encoded rows, in C++ (csrc/wire). The reference stays in Python.

Whatever the extension does not plainly understand it hands back as an export of its own, which the
reference (`core.otlp`, `core.dialects`, `core.row`) reads. So it is never a judge of right and
wrong, only a faster way for what is common; tests compare the two.
"""

from hone.traces.core.wire.native import (
    Encoded,
    Rates,
    copy_data,
    is_built,
    parts_decode,
    rates_new,
)

__all__ = ["Encoded", "Rates", "copy_data", "is_built", "parts_decode", "rates_new"]
