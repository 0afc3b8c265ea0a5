"""torch, imported when something first touches it.

It costs a process 190 MB and over a second, and the native CPU path needs only arrays: there it
serves checks, references and the GPU. Modules on that path take it from here, and their
annotations stay unevaluated.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch as torch
else:

    class _Torch:
        def __getattr__(self, name: str) -> Any:
            return getattr(importlib.import_module("torch"), name)

    torch = _Torch()
