"""The short way of WebSockets: messages whole, in pieces, odd; the library still does the rest."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn
import websockets

from hone.common.websocket import EXTENSION, WebSocketProtocol, binary_frame

LARGE = bytes(range(256)) * 300


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers on the short way what came on it (marked s), on ASGI's what came there (a)."""
    await receive()
    await send({"type": "websocket.accept"})
    line = scope["extensions"][EXTENSION]

    def take(message: bytes) -> bool:
        if message.startswith(b"asgi") or not line.is_writable:
            return False
        line.write(binary_frame(b"s" + message))
        return True

    line.on_message = take
    while (message := await receive())["type"] == "websocket.receive":
        data = message.get("bytes") or message["text"].encode()
        await send({"type": "websocket.send", "bytes": b"a" + data})


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """A server with the protocol; messages of at most 100,000 bytes."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        options = {"ws_max_size": 100_000, "log_config": None, "lifespan": "off"}
        config = uvicorn.Config(echo, ws=WebSocketProtocol, **options)
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([listening]))
        while not server.started:
            await asyncio.sleep(0.01)
        yield listening.getsockname()[1]
        server.should_exit = True
        await task


def masked(payload: bytes, first: int = 0x82) -> bytes:
    mask = b"\x01\x02\x03\x04"
    size = bytes((0x80 | len(payload),))
    if len(payload) >= 126:
        size = b"\xfe" + struct.pack(">H", len(payload))
    body = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
    return bytes((first,)) + size + mask + body


async def opened(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection after the handshake, to send bytes over as they are."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = ["GET / HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade"]
    lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


@pytest.mark.parametrize("message", [b"", b"x", b"y" * 125, b"z" * 126, LARGE])
async def test_a_message_comes_and_goes_whole(port: int, message: bytes) -> None:
    async with websockets.connect(f"ws://127.0.0.1:{port}") as client:
        assert client.protocol.extensions == [], "it agrees on no compression"
        await client.send(message)
        assert await client.recv() == b"s" + message


async def test_what_the_short_way_leaves_and_texts_and_parts_go_by_asgi(port: int) -> None:
    async with websockets.connect(f"ws://127.0.0.1:{port}") as client:
        await client.send(b"asgi 1")
        await client.send("text")
        await client.send([b"in ", b"three ", b"parts"])
        answers = [await client.recv() for _ in range(3)]
        assert answers == [b"aasgi 1", b"atext", b"ain three parts"]
        await client.send(b"whole")
        assert await client.recv() == b"swhole"
        await (await client.ping())
        await client.close()
        assert client.close_code == 1000


async def test_bytes_may_come_one_by_one_and_many_at_once(port: int) -> None:
    reader, writer = await opened(port)
    sent = masked(b"one") + masked(b"t" * 200) + masked(b"", 0x89) + masked(b"three")
    for at in range(len(sent)):
        writer.write(sent[at : at + 1])
        await writer.drain()
    writer.write(sent)
    wanted = binary_frame(b"sone") + binary_frame(b"s" + b"t" * 200)
    wanted += b"\x8a\x00" + binary_frame(b"sthree")
    assert await reader.readexactly(2 * len(wanted)) == 2 * wanted
    writer.close()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x82\x01x", 1002),  # not masked
        (b"\x82\xff" + struct.pack(">Q", 10**9) + bytes(4), 1009),  # says that it is huge
        (b"\x82\xff" + struct.pack(">Q", 2**64 - 1) + bytes(4), 1009),
        (b"\xc2\x81" + bytes(4) + b"x", 1002),  # compressed, which nobody agreed on
        (b"\x83\x81" + bytes(4) + b"x", 1002),  # no such kind
    ],
)
async def test_a_frame_against_the_rules_ends_the_connection(
    port: int, data: bytes, code: int
) -> None:
    reader, writer = await opened(port)
    writer.write(data)
    answer = await asyncio.wait_for(reader.read(), 10)
    assert answer[0] == 0x88
    assert struct.unpack(">H", answer[2:4])[0] == code
    writer.close()


async def test_who_hangs_up_within_a_frame_is_gone(port: int) -> None:
    _, writer = await opened(port)
    writer.write(masked(b"half a frame")[:7])
    writer.close()
    async with websockets.connect(f"ws://127.0.0.1:{port}") as client:
        await client.send(b"on")
        assert await client.recv() == b"son"
