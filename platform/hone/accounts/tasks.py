from celery import shared_task
from django.contrib.sessions.models import Session

from hone.common import clock


@shared_task(name="hone.accounts.sessions_prune")
def sessions_prune() -> None:
    """Delete sign-ins that have run out."""
    Session.objects.filter(expire_date__lt=clock.now()).delete()
