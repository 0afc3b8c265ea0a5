"""Stored texts as the values that they spell."""

from typing import Any, Final

from hone.traces.core.text import json_stored

_OPENS: Final = ("{", "[", '"')  # first characters of JSON that is no number


def json_read(text: str | None) -> Any:
    """The value of JSON text, the text itself where it is none."""
    if text is None:
        return None
    try:
        return json_stored(text)
    except ValueError:
        return text


def mapping_read(text: str | None) -> dict[str, Any]:
    """The object that JSON text spells; empty for anything else."""
    value = json_read(text)
    return value if isinstance(value, dict) else {}


def metadata_read(text: str | None) -> dict[str, Any]:
    """Metadata by key. Older SDKs write all but plain texts as JSON once more: it is read here."""
    return {
        key: json_read(value) if isinstance(value, str) and value[:1] in _OPENS else value
        for key, value in mapping_read(text).items()
    }


def counts_read(text: str | None) -> dict[str, int]:
    """Token counts by part."""
    return {part: int(count) for part, count in mapping_read(text).items()}


def amounts_read(text: str | None) -> dict[str, float]:
    """Amounts in USD by part."""
    return {part: float(amount) for part, amount in mapping_read(text).items()}
