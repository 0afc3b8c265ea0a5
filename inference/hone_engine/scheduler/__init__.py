"""Who runs next: continuous batching over pages, decided without tensors."""

from hone_engine.scheduler.scheduler import Scheduler

__all__ = ["Scheduler"]
