"""Any Python value as bounded text."""

from hone.sdk.values.text import cut, error_text, value_text

__all__ = ["cut", "error_text", "value_text"]
