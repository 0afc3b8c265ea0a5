"""OpenAI's client with every call recorded: `from hone.sdk.openai import OpenAI, AsyncOpenAI`.

Needs the `openai` package, which Hone does not bring.
"""

from typing import Any

import openai

from hone.sdk.openai.wrapping import wrap

__all__ = ["AsyncAzureOpenAI", "AsyncOpenAI", "AzureOpenAI", "OpenAI", "wrap"]


class OpenAI(openai.OpenAI):
    """`openai.OpenAI` that records its calls."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        wrap(self)


class AsyncOpenAI(openai.AsyncOpenAI):
    """`openai.AsyncOpenAI` that records its calls."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        wrap(self)


class AzureOpenAI(openai.AzureOpenAI):
    """`openai.AzureOpenAI` that records its calls."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        wrap(self)


class AsyncAzureOpenAI(openai.AsyncAzureOpenAI):
    """`openai.AsyncAzureOpenAI` that records its calls."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        wrap(self)
