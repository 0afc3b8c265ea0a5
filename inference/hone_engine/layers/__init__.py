"""Parts of a transformer: each loads its weights and records its operations on a program."""

from hone_engine.layers.attention import Attention
from hone_engine.layers.mlp import GatedMLP
from hone_engine.layers.norm import RMSNorm
from hone_engine.layers.rope import RotaryTable, rotary_table
from hone_engine.layers.weights import WeightSource

__all__ = ["Attention", "GatedMLP", "RMSNorm", "RotaryTable", "WeightSource", "rotary_table"]
