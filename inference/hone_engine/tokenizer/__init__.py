"""From text to tokens and back: chat templates, incremental decoding, stop strings."""

from hone_engine.tokenizer.detokenizer import Detokenizer
from hone_engine.tokenizer.stop import StopMatcher
from hone_engine.tokenizer.tokenizer import Tokenizer, TokenizerError

__all__ = ["Detokenizer", "StopMatcher", "Tokenizer", "TokenizerError"]
