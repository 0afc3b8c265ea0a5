"""What a model will take, reckoned before any of it is taken."""

import ctypes
import gc
import os
from dataclasses import dataclass
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


class MemoryPlanError(ValueError):
    """The model does not fit; the message has the figures and what would make it fit."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes that loading a model will take at most.

    context_bytes: what a device's own runtime takes. passing_bytes: beside the weights while they
    are read, before there is a cache and a workspace.
    """

    weight_bytes: int
    cache_bytes: int
    workspace_bytes: int
    context_bytes: int = 0
    passing_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """When all is in use."""
        return self.weight_bytes + self.cache_bytes + self.workspace_bytes + self.context_bytes

    @property
    def peak_bytes(self) -> int:
        """At any time: in use, or while the last weights are read."""
        return max(self.total_bytes, self.weight_bytes + self.context_bytes + self.passing_bytes)

    def check(self, available_bytes: int) -> None:
        """Raise MemoryPlanError when more is wanted than there is."""
        if self.peak_bytes <= available_bytes:
            return
        parts = [("weights", self.weight_bytes), ("cache", self.cache_bytes)]
        parts.append(("workspace", self.workspace_bytes))
        if self.context_bytes:
            parts.append(("context", self.context_bytes))
        if self.peak_bytes > self.total_bytes:
            parts.append(("and for a while to read them", self.passing_bytes))
        shown = ", ".join(f"{name} {_mb(num_bytes)}" for name, num_bytes in parts)
        raise MemoryPlanError(
            f"the model needs {_mb(self.peak_bytes)} ({shown}), "
            f"{_mb(available_bytes)} of memory is free; fewer cache tokens or fewer bits need less"
        )


def _mb(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:,.0f} MB"


def available_bytes() -> int:
    """Memory this process may still take: of the machine, and of its control group."""
    found = [_machine_bytes()]
    limit, used = _number(_CGROUP / "memory.max"), _number(_CGROUP / "memory.current")
    if limit is not None and used is not None:
        found.append(max(limit - used, 0) + _reclaimable_bytes())
    return min(found)


def release_heap() -> None:
    """Give freed heap pages back to the system: what reading a model left of its copies."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)


def _machine_bytes() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    values = dict(line.split(":", 1) for line in lines)
    return int(values["MemAvailable"].split()[0]) * 1024


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None  # "max": no limit


def _reclaimable_bytes() -> int:
    """File pages count as used in a control group, yet go when memory is short."""
    try:
        lines = (_CGROUP / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    values = dict(line.split(" ", 1) for line in lines)
    return int(values.get("inactive_file", 0)) + int(values.get("active_file", 0))
