"""The edges of the gateway: /v1 in front of Django, and its endpoints below /api."""

from hone.gateway.api.door import application

__all__ = ["application"]
