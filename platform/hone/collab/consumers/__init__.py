"""Rooms: the raw ASGI WebSocket door `/ws/collab/{draft}`, and what goes on behind it."""

from hone.collab.consumers.door import PREFIX, application

__all__ = ["PREFIX", "application"]
