"""Matrices in other programs' formats, from the packers that the benchmarks use."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))  # for quantizers
