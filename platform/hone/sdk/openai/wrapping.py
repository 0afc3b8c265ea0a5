"""Put a recorder around the methods of one client; its classes and other clients stay untouched."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final, TypeVar

from hone.sdk.guard import guarded
from hone.sdk.openai.call import Call
from hone.sdk.openai.endpoints import ENDPOINTS, Endpoint

C = TypeVar("C")
_MARK: Final = "_hone_wrapped"


def wrap(client: C) -> C:
    """The same client, sync or async; from now on its calls are recorded, also of its copies."""
    _wrap(client)
    return client


@guarded(None)
def _wrap(client: Any) -> None:
    if getattr(client, _MARK, False):
        return
    is_async = type(client).__name__.startswith("Async") or hasattr(client, "__aenter__")
    around = _async if is_async else _sync
    for endpoint in ENDPOINTS:
        owner = _owner(client, endpoint)
        method = getattr(owner, endpoint.path[-1], None)
        if method is not None:
            setattr(owner, endpoint.path[-1], around(method, endpoint, client))
    for name in ("copy", "with_options"):
        setattr(client, name, _copying(getattr(client, name)))
    setattr(client, _MARK, True)


def _owner(client: Any, endpoint: Endpoint) -> Any:
    owner = client
    for name in endpoint.path[:-1]:
        owner = getattr(owner, name, None)
    return owner


def _copying(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def copied(*args: Any, **kwargs: Any) -> Any:
        return wrap(method(*args, **kwargs))

    return copied


def _sync(method: Callable[..., Any], endpoint: Endpoint, client: Any) -> Callable[..., Any]:
    @functools.wraps(method)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        call = Call(endpoint, kwargs, str(client.base_url))
        try:
            answer = method(*args, **call.asked)
        except BaseException as error:
            call.fail(error)
            raise
        return _taken(call, answer, kwargs)

    return recorded


def _async(method: Callable[..., Any], endpoint: Endpoint, client: Any) -> Callable[..., Any]:
    @functools.wraps(method)
    async def recorded(*args: Any, **kwargs: Any) -> Any:
        call = Call(endpoint, kwargs, str(client.base_url))
        try:
            answer = await method(*args, **call.asked)
        except BaseException as error:
            call.fail(error)
            raise
        return _taken(call, answer, kwargs)

    return recorded


def _taken(call: Call, answer: Any, asked: dict[str, Any]) -> Any:
    """The answer, or the stream with a relay inside, of the same class as before."""
    said = _opened(answer)
    if asked.get("stream") is True and hasattr(said, "_iterator"):
        if call.stream_begins():
            _attach(call, said)
    else:
        call.answered(said)
    return answer


@guarded(None)
def _opened(answer: Any) -> Any:
    """What the caller will see of an answer.

    `with_raw_response` has read the body, and keeps what it is parsed to. The body of
    `with_streaming_response` is the caller's to read: nothing can be said about it.
    """
    kind = type(answer).__name__
    if kind == "LegacyAPIResponse":
        return answer.parse()
    return None if kind in ("APIResponse", "AsyncAPIResponse") else answer


@guarded(None)
def _attach(call: Call, stream: Any) -> None:
    if hasattr(stream._iterator, "__anext__"):
        stream._iterator = _relay_async(stream._iterator, call)
        close = stream.close

        async def closed_async() -> None:
            await close()
            call.stream_ended()

        stream.close = closed_async
    else:
        stream._iterator = _relay(stream._iterator, call)
        close = stream.close

        def closed() -> None:
            close()
            call.stream_ended()

        stream.close = closed


def _relay(chunks: Iterator[Any], call: Call) -> Iterator[Any]:
    try:
        for chunk in chunks:
            call.took(chunk)
            yield chunk
    except BaseException as error:
        call.stream_ended(error)
        raise
    call.stream_ended()


async def _relay_async(chunks: AsyncIterator[Any], call: Call) -> AsyncIterator[Any]:
    try:
        async for chunk in chunks:
            call.took(chunk)
            yield chunk
    except BaseException as error:
        call.stream_ended(error)
        raise
    call.stream_ended()
