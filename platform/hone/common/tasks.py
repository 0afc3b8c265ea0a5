from celery import shared_task

from hone.common import clock, events


@shared_task(name="hone.common.events_prune")
def events_prune() -> None:
    """Forget events that nobody will ask for any more."""
    events.prune(clock.now() - events.KEEP)
