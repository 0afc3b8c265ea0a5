"""The /v1 endpoints."""

import asyncio
from collections.abc import Callable
from collections.abc import Sequence as Items
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import orjson
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from hone_engine.engine import EngineInfo, EngineThread
from hone_engine.server.body import json_body
from hone_engine.server.calls import Call, Prompt, chat_call, text_call
from hone_engine.server.errors import ApiError
from hone_engine.server.keys import check_key
from hone_engine.server.replies import Reply
from hone_engine.server.shapes import ChatShape, Shape, TextShape
from hone_engine.types import Request

LONG_LEN = 20_000  # characters of a body; above, its prompt is encoded off the event loop


class OpenAI:
    """OpenAI's endpoints over one engine, behind one key if there is one."""

    def __init__(self, engine: EngineThread, api_key: str | None):
        self._engine = engine
        self._key = api_key
        self._num_encoding = 0

    async def models(self, request: HttpRequest) -> Response:
        """GET /v1/models."""
        self._authorize(request)
        return _json({"object": "list", "data": [self._model()]})

    async def model(self, request: HttpRequest) -> Response:
        """GET /v1/models/{model}."""
        self._authorize(request)
        self._check_model(request.path_params["model"])
        return _json(self._model())

    async def chat(self, request: HttpRequest) -> Response | Reply:
        """POST /v1/chat/completions."""
        self._authorize(request)
        body = await json_body(request)
        call, messages = chat_call(body)
        info = self._check_model(call.model)

        def prepare() -> list[Request]:
            return [self._engine.chat_request(messages, call.params)]

        prompts = await self._prepared(request, prepare)
        return await self._reply(request, call, prompts, ChatShape, info)

    async def text(self, request: HttpRequest) -> Response | Reply:
        """POST /v1/completions."""
        self._authorize(request)
        body = await json_body(request)
        call, prompts = text_call(body)
        info = self._check_model(call.model)

        def prepare() -> list[Request]:
            return [self._text_request(prompt, call) for prompt in prompts]

        requests = await self._prepared(request, prepare)
        return await self._reply(request, call, requests, TextShape, info)

    async def _reply(
        self,
        request: HttpRequest,
        call: Call,
        prompts: Items[Request],
        kind: type[Shape],
        info: EngineInfo,
    ) -> Response | Reply:
        requests = [replace(prompt, choice=i) for prompt in prompts for i in range(call.n)]
        shape = kind(
            info.name,
            fingerprint(info),
            logprobs=call.params.logprobs is not None,
            include_usage=call.include_usage,
        )
        reply = Reply(self._engine.open(requests, of=info), shape, call.n)
        return reply if call.stream else _json(await reply.whole(request.receive))

    async def _prepared(
        self, request: HttpRequest, prepare: Callable[[], list[Request]]
    ) -> list[Request]:
        """Encode here when it takes no time; else, or while such another one holds the tokenizer,
        on a thread, so that the streams of others go on."""
        length = request.headers.get("content-length", "")
        if self._num_encoding == 0 and length.isdecimal() and int(length) < LONG_LEN:
            return prepare()
        self._num_encoding += 1
        try:
            return await asyncio.to_thread(prepare)
        finally:
            self._num_encoding -= 1

    def _text_request(self, prompt: Prompt, call: Call) -> Request:
        return self._engine.text_request(prompt, call.params)

    def _authorize(self, request: HttpRequest) -> None:
        if self._key is not None:
            check_key(request, self._key)

    def _check_model(self, name: str) -> EngineInfo:
        info = self._engine.info
        if name != info.name:
            raise ApiError(
                404,
                f"The model {name[:100]!r} does not exist; this engine serves {info.name!r}.",
                param="model",
                code="model_not_found",
            )
        return info

    def _model(self) -> dict[str, Any]:
        info = self._engine.info
        return {
            "id": info.name,
            "object": "model",
            "created": int(info.started_at),
            "owned_by": "hone",
            "context_length": info.context_len,
        }


@lru_cache(maxsize=4)
def fingerprint(info: EngineInfo) -> str:
    """What tells one loaded model from another, as OpenAI's `system_fingerprint`."""
    facts = f"{info.name} {info.device} {info.memory_bytes}"
    return "fp_" + blake2b(facts.encode(), digest_size=5).hexdigest()


def _json(value: dict[str, Any]) -> Response:
    return Response(orjson.dumps(value), media_type="application/json")
