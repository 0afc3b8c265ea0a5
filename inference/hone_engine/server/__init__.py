"""The OpenAI-compatible HTTP face of an engine."""

from hone_engine.server.app import app
from hone_engine.server.loading import Loadable, Loader
from hone_engine.server.serving import ServerHandle, serve, serve_in_thread

__all__ = ["Loadable", "Loader", "ServerHandle", "app", "serve", "serve_in_thread"]
