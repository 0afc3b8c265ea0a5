"""GET /api/projects/{project}/live: what happens in a project, as server-sent events."""

from hone.traces.consumers.live import application, is_live

__all__ = ["application", "is_live"]
