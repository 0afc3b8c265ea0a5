"""The user's mask around every text: where it fails, the text does not leave."""

from collections.abc import Callable
from typing import Final

FAILED: Final = "<mask failed>"


def masking(mask: Callable[[str], str] | None) -> Callable[[str], str]:
    """`mask` that never raises and always gives text; without one, texts stay as they are."""
    if mask is None:
        return str

    def masked(text: str) -> str:
        try:
            found = mask(text)
        except Exception:
            return FAILED
        return found if isinstance(found, str) else FAILED

    return masked
