"""Mixtures of widths like those that EXL2's quantizer chooses, for models of random weights."""

from dataclasses import dataclass

from hone_engine.kernels.cuda_mixed import WIDTHS

FIRST, SECOND = 0.05, 0.1  # shares of the inputs with two widths and one width more than the rest


@dataclass(frozen=True, slots=True)
class Mixture:
    """`bits` a weight on average, scales aside; those of the head besides."""

    bits: float
    head_bits: float

    def tiles(self, num_tiles: int, *, head: bool = False) -> list[int]:
        """The width of each tile, falling.

        Twentieths of the inputs have two widths more than most, tenths one; what is left is
        divided between two neighbors so that the average is met.
        """
        wanted = self.head_bits if head else self.bits
        base = max(width for width in WIDTHS if width <= wanted)
        higher = [width for width in WIDTHS if width > base][:2]
        if not higher:
            return [base] * num_tiles
        counts = [round(share * num_tiles) for share in (FIRST, SECOND)]
        top = [higher[-1]] * counts[0] + [higher[0]] * counts[1]
        left = round(wanted * num_tiles) - sum(top)
        rest = num_tiles - len(top)
        return sorted(top + _divided(left, rest), reverse=True)


def _divided(total: int, count: int) -> list[int]:
    """`count` widths of two neighbors whose sum comes nearest to `total`."""
    low = max(width for width in WIDTHS if width <= max(total / count, WIDTHS[0]))
    high = next((width for width in WIDTHS if width > low), low)
    more = 0 if high == low else round((total - low * count) / (high - low))
    more = min(max(more, 0), count)
    return [high] * more + [low] * (count - more)


def parse_bits(text: str) -> int | Mixture:
    """4, 8 or 16: one width; "exl2-4.0", "2.5", "3": a mixture with a head of 6 bits or more."""
    mixed = text.removeprefix("exl2-")
    try:
        bits = float(mixed)
    except ValueError:
        bits = 0.0
    if not 2 <= bits <= 16 or (bits > 8 and bits != 16):
        raise ValueError(f"synthetic: got {text!r} bits, wanted 2 to 8, 16, or exl2-2 to exl2-8")
    if mixed == text and bits in (4, 8, 16):
        return int(bits)
    return Mixture(bits, max(bits, 6.3))
