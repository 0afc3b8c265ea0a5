import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection, models
from kombu.exceptions import OperationalError

from hone.common import clock, jobs
from hone.common.jobs import JobState, LeasedModel

pytestmark = pytest.mark.django_db(transaction=True)
LEASE = timedelta(seconds=30)


class Chore(LeasedModel):
    """A job table that only these tests have."""

    result = models.TextField(default="")

    class Meta:
        app_label = "chores"  # no app of ours, so that it wants no migration
        managed = False
        db_table = "test_chore"

    def __str__(self) -> str:
        return f"{self.pk} {self.state}"


@pytest.fixture(autouse=True)
def chores(transactional_db: None) -> Iterator[None]:
    with connection.schema_editor() as editor:
        editor.create_model(Chore)
    Chore.objects.bulk_create(Chore() for _ in range(10))
    yield
    with connection.schema_editor() as editor:
        editor.delete_model(Chore)


def claim(owner: str, limit: int = 4, now=None) -> list[Chore]:
    return jobs.claim(
        Chore.objects.order_by("id"), owner=owner, limit=limit, lease=LEASE, now=now or clock.now()
    )


def test_a_claimed_row_is_nobody_elses() -> None:
    mine, theirs = claim("a", 6), claim("b", 6)
    assert (len(mine), len(theirs)) == (6, 4)
    assert not {row.pk for row in mine} & {row.pk for row in theirs}
    stored = Chore.objects.get(pk=mine[0].pk)
    assert (stored.state, stored.lease_owner, stored.attempt) == ("running", "a", 1)
    assert (mine[0].state, mine[0].attempt, mine[0].lease_until) == (
        "running",
        1,
        stored.lease_until,
    )


def test_workers_at_the_same_moment_share_the_rows_out() -> None:
    start = threading.Barrier(4)
    got: list[int] = []

    def work(owner: str) -> None:
        start.wait()
        while rows := claim(owner, 1):
            got.extend(row.pk for row in rows)
        connection.close()

    threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(Chore.objects.values_list("pk", flat=True))


def test_only_its_owner_finishes_a_row_and_only_once() -> None:
    (row,) = claim("a", 1)
    assert not jobs.finish(Chore, row.pk, owner="b", result="stolen")
    assert jobs.finish(Chore, row.pk, owner="a", result="done")
    assert not jobs.finish(Chore, row.pk, owner="a", result="again")
    stored = Chore.objects.get(pk=row.pk)
    assert (stored.state, stored.result, stored.lease_until) == ("done", "done", None)


def test_what_a_dead_worker_held_is_done_by_another() -> None:
    now = clock.now()
    (row,) = claim("dead", 1, now)
    sweep = Chore.objects.all()
    early = jobs.requeue_expired(sweep, now=now + LEASE, max_attempts=3)
    late = jobs.requeue_expired(sweep, now=now + LEASE * 2, max_attempts=3)
    assert (early, late) == ((0, 0), (1, 0))
    (again,) = claim("alive", 1)
    assert (again.pk, again.attempt) == (row.pk, 2)
    assert not jobs.finish(Chore, row.pk, owner="dead", result="late")
    assert jobs.finish(Chore, row.pk, owner="alive", result="in time")


def test_a_row_that_kills_its_workers_fails_in_the_end() -> None:
    now = clock.now()
    outcomes = []
    for number in range(3):
        claim(f"w{number}", 1, now)
        now += LEASE * 2
        outcomes.append(
            jobs.requeue_expired(
                Chore.objects.all(), now=now, max_attempts=3, result="gave up after 3"
            )
        )
    assert outcomes == [(1, 0), (1, 0), (0, 1)]
    assert Chore.objects.get(state=JobState.FAILED).result == "gave up after 3"


def test_a_renewed_lease_holds_and_a_lost_one_is_told() -> None:
    now = clock.now()
    first, second = claim("a", 2, now)
    Chore.objects.filter(pk=second.pk).update(state=JobState.CANCELED)
    later = now + LEASE
    held = jobs.renew(Chore, [first.pk, second.pk], owner="a", lease=LEASE, now=later)
    assert held == {first.pk}
    assert jobs.requeue_expired(Chore.objects.all(), now=later, max_attempts=3) == (0, 0)


def test_rows_given_back_count_as_untried() -> None:
    rows = claim("a", 3)
    assert jobs.give_back(Chore, [row.pk for row in rows], owner="a") == 3
    assert [row.attempt for row in claim("b", 10)] == [1] * 10


def test_waking_waits_for_the_commit_and_survives_a_dead_broker(monkeypatch) -> None:
    sent = []

    def send_task(name: str, **options: object) -> None:
        sent.append((name, options["args"], options["queue"]))
        raise OperationalError("no broker")

    monkeypatch.setattr(jobs.current_app, "send_task", send_task)
    jobs.wake("hone.test", 7, queue="gpu")
    assert sent == [("hone.test", (7,), "gpu")]
