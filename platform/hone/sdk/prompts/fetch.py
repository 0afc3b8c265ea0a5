"""`get_prompt`: from the cache, from the server, or the caller's own fallback."""

import os
import urllib.parse
from typing import Final

from hone.sdk.client import client
from hone.sdk.delivery.transport import Transport
from hone.sdk.options import Options, log
from hone.sdk.prompts.cache import PromptCache
from hone.sdk.prompts.prompt import Prompt, PromptError, Template, prompt_of

PATH: Final = "/api/public/v2/prompts/"
TIMEOUT_S: Final = 5.0
_cache: Final = PromptCache()
os.register_at_fork(after_in_child=_cache.__init__)  # type: ignore[misc]


def get_prompt(
    name: str,
    *,
    label: str | None = None,
    version: int | None = None,
    user: str | None = None,
    session: str | None = None,
    fallback: Template | None = None,
    ttl_s: float = 60.0,
) -> Prompt:
    """The version with that number or label ("production" where neither is given).

    Of a label that is split over several versions `user`, or else `session`, always gets the same.

    Answered from memory for `ttl_s` seconds; after that the old one is given while a thread
    fetches the new one. Where none can be had, `fallback` is, with version 0; raises PromptError
    without one.
    """
    try:
        found = client()
        if found is None:
            raise PromptError("Call hone.sdk.init first")
        options = found.options
        asked = _asked(label, version, user, session)
        key = (name, *asked, *asked.values(), options.origin, options.secret_key)
        return _cache.get(key, ttl_s, lambda: _load(options, name, asked))
    except PromptError as error:
        if fallback is None:
            raise
        log.warning("hone: prompt %s: the fallback is used: %s", name, error)
        return Prompt(name, 0, fallback, is_fallback=True)


def prompts_forget() -> None:
    """Empty the cache: the next `get_prompt` asks the server."""
    _cache.clear()


def _asked(
    label: str | None, version: int | None, user: str | None, session: str | None
) -> dict[str, str]:
    if version is not None:
        return {"version": str(version)}
    subject = {"user": user} if user else {"session": session} if session else {}
    return {"label": label or "production", **subject}


def _load(options: Options, name: str, asked: dict[str, str]) -> Prompt:
    path = f"{PATH}{urllib.parse.quote(name, safe='')}?{urllib.parse.urlencode(asked)}"
    transport = Transport(options.url, options.authorization, TIMEOUT_S)
    try:
        reply = transport.ask("GET", path)
        if reply.is_temporary:
            reply = transport.ask("GET", path)
    finally:
        transport.close()
    if not reply.is_ok:
        raise PromptError(f"{name}: {reply.said()}")
    return prompt_of(reply.json())
