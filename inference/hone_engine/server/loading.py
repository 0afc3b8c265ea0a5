"""Another model, or the same one read anew, while the server listens."""

import logging
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hone_engine.config import EngineConfig
from hone_engine.engine import GRACE_S, Engine, EngineThread
from hone_engine.formats import FormatError, Progress
from hone_engine.runner import check
from hone_engine.server.errors import ApiError

logger = logging.getLogger(__name__)

MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Loadable:
    """What a server may load: the directory that it began with, and those in `shelf`, by their
    names. `config` is that of the first and holds for all."""

    first: Path
    config: EngineConfig
    shelf: Path | None = None

    def path(self, name: str | None, current: Path) -> Path:
        """Where the model `name` lies; None means the present one, to be read anew. Raises ApiError
        404 with the names that there are."""
        if name is None:
            return current
        if name == self.first.name:
            return self.first
        names = self.names()
        if self.shelf is None or name not in names:
            known = ", ".join([self.first.name, *names][:MOST_NAMED])
            raise ApiError(
                404,
                f"model is {name[:100]!r}; wanted one of {known}",
                param="model",
                code="model_not_found",
            )
        return self.shelf / name

    def names(self) -> list[str]:
        """Model directories of the shelf, in order."""
        if self.shelf is None:
            return []
        return sorted(path.parent.name for path in self.shelf.glob("*/config.json"))


class Loader:
    """One load at a time, on a thread of its own; `state` says how it goes."""

    def __init__(self, engine: EngineThread, loadable: Loadable, grace_s: float = GRACE_S):
        self._engine = engine
        self._loadable = loadable
        self._grace_s = grace_s
        self._gate = threading.Lock()
        self._current = loadable.first
        self._wanted: Path | None = None
        self._progress: Progress | None = None
        self._error = ""

    def load(self, name: str | None) -> None:
        """Begin to load the model `name` (None: the present one anew).

        Raises ApiError: 404 for a name that is not there, 400 for a directory that does not hold
        together (the present model stays), 409 while another load is under way.
        """
        path = self._loadable.path(name, self._current)
        try:
            check(path)
        except FormatError as error:
            raise ApiError(400, str(error), param="model", code="invalid_model") from None
        with self._gate:
            if self._wanted is not None:
                raise ApiError(
                    409, f"{self._wanted.name} is being loaded already", code="model_loading"
                )
            self._wanted, self._progress, self._error = path, None, ""
        threading.Thread(target=self._run, args=(path,), name="hone-load", daemon=True).start()

    def state(self) -> dict[str, Any]:
        """What is loaded or under way: `status` is "loading", "failed" (the latest load; what ran
        before answers again if it could be loaded) or "ready"; bytes, and seconds left."""
        wanted, progress = self._wanted, self._progress
        if wanted is None:
            status = "failed" if self._error else "ready"
            return {"status": status, "model": self._current.name, "error": self._error or None}
        state: dict[str, Any] = {"status": "loading", "model": wanted.name, "error": None}
        if progress is not None and progress.total_bytes:
            state |= {
                "share": round(progress.num_bytes / progress.total_bytes, 4),
                "bytes_per_second": round(progress.bytes_per_second),
                "left_s": round(progress.left_s, 1),
            }
        return state

    def _run(self, path: Path) -> None:
        current, error = self._current, ""
        try:
            self._engine.exchange(
                lambda: self._made(path), lambda: self._made(current), grace_s=self._grace_s
            )
            self._current = path
        except Exception as failure:
            logger.exception("%s could not be loaded", path)
            error = f"{path.name} could not be loaded: {failure}"
        with self._gate:
            self._error, self._wanted = error, None

    def _made(self, path: Path) -> Engine:
        config = self._loadable.config
        # A name that was given to the first model is not another one's.
        named = config if path == self._loadable.first else replace(config, name="")
        return Engine.load(path, named, on_progress=self._told)

    def _told(self, progress: Progress) -> None:
        self._progress = progress
