"""Attribute dialects read into our span: GenAI, OpenInference, OpenLLMetry, Langfuse and more."""

from hone.traces.core.dialects.mapping import span_of, spans_of

__all__ = ["span_of", "spans_of"]
