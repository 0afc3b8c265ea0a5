"""The OpenTelemetry end: every span gets what is propagated, every finished one is queued."""

from sys import getsizeof
from typing import Final

from opentelemetry import context as otel
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from hone.sdk.context import propagated
from hone.sdk.delivery.courier import Courier

SPAN_BYTES: Final = 2500  # what a span holds beside its texts, measured with 20,000 of them


class Processor(SpanProcessor):
    """Works for any TracerProvider, so that other instrumentations' spans come along."""

    def __init__(self, courier: Courier) -> None:
        self._courier = courier

    def on_start(self, span: Span, parent_context: otel.Context | None = None) -> None:
        """Session, user, tags and metadata of `propagate` stand on every span."""
        attributes = propagated(parent_context)
        if attributes:
            span.set_attributes(attributes)

    def on_end(self, span: ReadableSpan) -> None:
        """Queue the span; where there is no room it is counted."""
        context = span.get_span_context()
        if context is None or not context.trace_flags.sampled:
            return
        num_bytes = SPAN_BYTES
        for value in (span.attributes or {}).values():
            if isinstance(value, str):
                num_bytes += getsizeof(value)  # in memory: up to 4 bytes a character
        self._courier.put(span, num_bytes)

    def shutdown(self) -> None:
        """The client closes the courier itself."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until what was queued is settled."""
        return self._courier.flush(timeout_millis / 1000)
