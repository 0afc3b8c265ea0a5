"""How a token is chosen: the parameters and what may be asked of them."""

from hone_engine.sampling.params import PARAMETERS, params_parse, seed_of

__all__ = ["PARAMETERS", "params_parse", "seed_of"]
