import pytest

from hone.accounts.tasks import sessions_prune
from hone.common.tasks import events_prune
from hone.config.celery import PERIODIC, app


def test_what_is_periodic_is_a_task_on_a_queue_that_there_is() -> None:
    app.loader.import_default_modules()
    queues = {queue.name for queue in app.conf.task_queues}
    assert queues == {"default", "rollups", "gpu"}
    for task, every, queue in PERIODIC.values():
        assert task in app.tasks
        assert every > 0
        assert queue in queues


def test_lost_messages_come_back_within_minutes() -> None:
    options = app.conf.broker_transport_options
    assert options["visibility_timeout"] <= 600
    assert options["unacked_restore_throttle"] == 1


def test_a_message_reaches_its_own_queue_only(servers: None) -> None:
    app.send_task("hone.common.events_prune", queue="gpu")
    app.send_task("hone.common.events_prune")
    found = {}
    with app.connection_for_read() as connection:
        for queue in app.conf.task_queues:
            bound = queue(connection.default_channel)
            bound.declare()
            found[queue.name] = 0
            while message := bound.get(no_ack=True):
                assert message is not None
                found[queue.name] += 1
    assert found == {"default": 1, "rollups": 0, "gpu": 1}


@pytest.mark.django_db
def test_what_is_old_is_pruned(alice, client) -> None:
    client.force_login(alice)
    sessions_prune()
    events_prune()
    assert client.get("/api/auth/me").status_code == 200
