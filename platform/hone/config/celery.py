"""Celery: the wake-up call of the workers. What is to do stands in rows (hone.common.jobs).

Start: `celery -A hone.config.celery worker -P threads -Q default,rollups`, and for the engine
`… -P threads -c 1 -Q gpu`. No result backend: results are rows. The beat runs as a thread of every
worker that serves `default`; what it sends may be sent twice.
"""

import os
from threading import Thread
from typing import Any, cast

from celery import Celery
from celery.beat import EmbeddedService, Scheduler
from celery.signals import setup_logging, worker_ready
from django.conf import settings
from kombu import Exchange, Queue

from hone.config import environment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hone.config.settings.prod")
# Django's checks would load the URL table and all REST views into every worker; the tests run them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

# name: (task, every so many seconds, queue)
PERIODIC: dict[str, tuple[str, float, str]] = {
    "partitions-ensure": ("hone.traces.partitions_ensure", 6 * 3600.0, "default"),
    "search-refresh": ("hone.traces.search_refresh", 5.0, "rollups"),
    "traces-retain": ("hone.traces.retain", 3600.0, "default"),
    "erase": ("hone.traces.erase", 10.0, "default"),
    "media-sweep": ("hone.traces.media_sweep", 6 * 3600.0, "default"),
    "events-prune": ("hone.common.events_prune", 3600.0, "default"),
    "sessions-prune": ("hone.accounts.sessions_prune", 3600.0, "default"),
}

QUEUES = ("default", "rollups", "gpu")

app = Celery("hone")
app.conf.update(
    broker_url=environment.broker(settings.REDIS_URL),
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,  # the broker may be away for a night
    broker_pool_limit=4,
    # A message that a worker took and never acknowledged comes back after `visibility_timeout`.
    # The stock sweep for such messages runs about every 100 s; this one every 2 s.
    broker_transport_options={
        "visibility_timeout": 120,
        "unacked_restore_interval": 2,
        "unacked_restore_throttle": 1,
        "socket_timeout": 10,
        "socket_connect_timeout": 3,
        "global_keyprefix": f"{settings.HONE_REDIS_PREFIX}:celery:",
    },
    task_publish_retry=False,
    # Each with its own routing key: queues that share the default one each get every message.
    task_queues=[Queue(name, Exchange(name), routing_key=name) for name in QUEUES],
    task_default_queue="default",
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    timezone="UTC",
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_prefetch_multiplier=1,
    worker_send_task_events=False,
    beat_schedule={
        name: {"task": task, "schedule": every, "options": {"queue": queue, "expires": every}}
        for name, (task, every, queue) in PERIODIC.items()
    },
)
app.autodiscover_tasks()


@setup_logging.connect
def keep_logging(**_: Any) -> None:
    """Django's logging stands; a receiver of this signal keeps Celery from setting up its own."""


@worker_ready.connect
def start_beat(sender: Any, **_: Any) -> None:
    """Run the beat in a thread: as a process of its own it would cost 70 MB."""
    if "default" in sender.app.amqp.queues.consume_from:
        service = EmbeddedService(sender.app, thread=True, scheduler_cls=Scheduler)
        cast(Thread, service).start()
