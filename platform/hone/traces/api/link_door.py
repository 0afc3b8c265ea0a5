"""Links that Langfuse's SDKs print, led to our pages: `/project/PROJECT/traces/TRACE`."""

from typing import Final
from urllib.parse import quote, unquote

from hone.common.asgi import Receive, Scope, Send, send_bytes, send_error
from hone.common.errors import NotFoundError
from hone.traces.core.ids import trace_key

PATH: Final = "/project"


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Send the browser to the page of the same thing."""
    target = page_of(scope["path"])
    if target is None:
        await send_error(send, NotFoundError(f"There is nothing at {scope['path']}"))
        return
    query = scope["query_string"].decode("latin-1")
    address = f"{target}?{query}" if query else target
    await send_bytes(send, 307, b"", "text/plain", [("location", address)])


def page_of(path: str) -> str | None:
    """Our page for a path of theirs; a trace by the id that its sender gave it."""
    project, *rest = path.removeprefix(PATH).removeprefix("/").split("/")
    if not project or "\\" in path:
        return None
    place = f"/p/{quote(project)}"
    if rest[:1] == ["traces"] and len(rest) > 1:
        return f"{place}/traces/{trace_key(unquote('/'.join(rest[1:])))}"
    if rest[:1] == ["experiments"]:
        return f"{place}/datasets"
    return f"{place}/{quote('/'.join(rest))}".rstrip("/")
