"""The advisory locks under which writers of traces say how far numbers can be trusted."""

from typing import Final

MARK: Final = 0x4854  # upper 16 bits of a lock's key
NUMBER_BITS: Final = 48  # lower bits: a number not above any that the writer uses
