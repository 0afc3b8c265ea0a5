"""Which ASGI application answers which path."""

from typing import cast

from django.conf import settings
from django.core.asgi import get_asgi_application

from hone.collab import consumers as rooms
from hone.common import health
from hone.common.asgi import App, Receive, Scope, Send, limit_body, outermost
from hone.common.static import StaticFiles
from hone.gateway import api as gateway
from hone.prompts.api import read_door
from hone.traces import batches, consumers, ingest
from hone.traces.api import export_door, link_door, media_door
from hone.traces.api import read_door as traces_door

# Longest first. These doors stay out of Django: they are the hot paths.
DOORS: list[tuple[str, App]] = [
    ("/api/public/otel/v1/traces", ingest.application),
    (batches.METRICS, batches.metrics_dropped),
    (batches.PATH, batches.application),
    (media_door.PATH, media_door.application),
    ("/api/public/health", health.public),
    ("/api/public/ready", health.public),
    (link_door.PATH, link_door.application),
    ("/v1/traces", ingest.application),
    ("/v1", gateway.application),
]
HEALTH = {"/health", "/api/health"}


def is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")


def build() -> App:
    """The path router; Django must be set up."""
    django = limit_body(cast(App, get_asgi_application()), settings.HONE_MAX_BODY_BYTES)
    prompts = read_door.in_front_of(django)
    api = traces_door.in_front_of(django)
    static = StaticFiles(settings.HONE_UI_DIR)

    def choose(path: str) -> App:
        if path in HEALTH:
            return health.application
        if consumers.is_live(path):
            return consumers.application
        if export_door.is_export(path):
            return export_door.application
        if is_below(path, read_door.PATH):
            return prompts
        door = next((app for prefix, app in DOORS if is_below(path, prefix)), None)
        return door or (api if is_below(path, "/api") else static)

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await rooms.application(scope, receive, send)
            return
        await choose(scope["path"])(scope, receive, send)

    return outermost(route)
