"""The loop of verbs: add, step, stream, abort; alone (`Engine`) or on a thread of its own."""

from hone_engine.engine.answer import Completion
from hone_engine.engine.channel import Channel
from hone_engine.engine.engine import Engine
from hone_engine.engine.model import EngineInfo, EngineTokenizer, Model
from hone_engine.engine.pending import Outcome, Pending
from hone_engine.engine.thread import GRACE_S, EngineThread

__all__ = [
    "GRACE_S",
    "Channel",
    "Completion",
    "Engine",
    "EngineInfo",
    "EngineThread",
    "EngineTokenizer",
    "Model",
    "Outcome",
    "Pending",
]
