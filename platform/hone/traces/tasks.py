"""Upkeep that the beat of config/celery asks for."""

from celery import shared_task

from hone.traces.services import (
    erasures_run,
    media_sweep,
    partitions_ensure,
    retentions_run,
    traces_retain,
)
from hone.traces.services.figures import figures_refresh
from hone.traces.services.rollups import rollups_refresh
from hone.traces.services.search import search_refresh


@shared_task(name="hone.traces.partitions_ensure")
def ensure_partitions() -> None:
    """Make the partitions of the coming days."""
    partitions_ensure()


@shared_task(name="hone.traces.retain")
def retain() -> None:
    """Let go of what is past its time."""
    traces_retain()
    retentions_run()


@shared_task(name="hone.traces.media_sweep")
def sweep_media() -> None:
    """Forget files that were announced and never came."""
    media_sweep()


@shared_task(name="hone.traces.search_refresh")
def refresh_search() -> None:
    """Take what is new into the search index and into the figures."""
    search_refresh()
    rollups_refresh()
    figures_refresh()


@shared_task(name="hone.traces.erase")
def erase() -> None:
    """Delete what was asked to be deleted."""
    erasures_run()
