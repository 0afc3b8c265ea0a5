"""For how many days a project keeps its traces: who sets it, what goes, and what stays."""

from collections.abc import Callable
from datetime import UTC, timedelta
from importlib import import_module
from typing import Any

import pytest
from pytest_django import Settings

from hone.accounts.core.roles import Role
from hone.common import clock, jobs
from hone.traces.core.span import Span
from hone.traces.models import Erasure, Retention
from hone.traces.selectors.query import fetch
from hone.traces.services import erasures_run, retentions_run, spans_ingest
from hone.traces.services.retention import kept_since
from hone.traces.services.rollups import rollups_refresh
from hone.traces.services.search import search_index

URL = "/api/projects/demo/retention"
Make = Callable[..., Span]
DAY_NS = 86_400 * 10**9

pytestmark = pytest.mark.django_db


@pytest.fixture
def aged(project: Any, foreign_project: Any, make_span: Make) -> None:
    """Traces 1 to 4 of ten, twenty, thirty and forty days ago, in two projects."""
    for owner in (project, foreign_project):
        for number in (1, 2, 3, 4):
            start = clock.now_ns() - number * 10 * DAY_NS
            span = make_span(0, trace_id=f"{number:032x}", start_ns=start, end_ns=start)
            spans_ingest(project_id=owner.pk, spans=[span])
    # This one began long ago and goes on.
    for days in (45, 5):
        start = clock.now_ns() - days * DAY_NS
        span = make_span(days, trace_id=f"{9:032x}", start_ns=start, end_ns=start)
        spans_ingest(project_id=project.pk, spans=[span])


def ids(project: Any) -> set[int]:
    found = [
        {int(text, 16) for (text,) in fetch(query, [project.pk])}
        for query in (
            "SELECT encode(trace_id, 'hex') FROM traces_observation WHERE project_id = %s",
            "SELECT encode(trace_id, 'hex') FROM traces_trace WHERE project_id = %s",
        )
    ]
    assert found[0] == found[1]
    return found[0]


def test_what_is_older_goes_at_once_and_later_by_itself(
    as_alice: Any,
    project: Any,
    foreign_project: Any,
    aged: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert as_alice.get(URL).json()["days"] is None
    set_ = as_alice.put(URL, {"days": 25})
    assert set_.status_code == 200, set_.content
    assert (set_.json()["days"], set_.json()["author"]) == (25, "Alice")
    assert set_.json()["latest"]["state"] == "queued"
    assert erasures_run() == 1
    assert ids(project) == {1, 2, 9}
    assert ids(foreign_project) == {1, 2, 3, 4}
    done = as_alice.get(URL).json()["latest"]
    assert (done["what"], done["state"], done["trace_count"]) == ("retention", "done", 2)
    assert retentions_run() == 0  # nothing more is that old
    later = clock.now() + timedelta(days=7)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert retentions_run() == 1
    assert retentions_run() == 0  # it waits
    assert erasures_run() == 1
    assert ids(project) == {1, 9}
    [row] = Erasure.objects.all()  # the same one, with what it did this time
    assert (row.trace_count, row.trace_total, row.author_name) == (1, 1, "retention")


@pytest.mark.django_db(transaction=True)
def test_one_is_told_beforehand_how_much_would_go(
    transactional_db: None, as_alice: Any, aged: None
) -> None:
    while search_index():  # what is counted is what is committed
        pass
    rollups_refresh()
    told = as_alice.get(f"{URL}/older?days=25").json()
    assert (told["trace_count"], told["observation_count"]) == (3, 3)  # one of them goes on
    assert told["before"] == kept_since(25).isoformat().replace("+00:00", "Z")
    assert told["first_at"] < told["before"]
    assert as_alice.get(f"{URL}/older?days=400").json()["trace_count"] == 0
    assert not Erasure.objects.exists()


def test_whole_days_go(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = clock.now().astimezone(UTC).replace(2026, 12, 1, 13, 30)
    monkeypatch.setattr(clock, "now", lambda: moment)
    assert kept_since(1).isoformat() == "2026-11-30T00:00:00+00:00"


def test_for_ever_calls_off_what_waits(as_alice: Any, project: Any, aged: None) -> None:
    as_alice.put(URL, {"days": 25})
    off = as_alice.put(URL, {"days": None}).json()
    assert (off["days"], off["latest"]["state"]) == (None, "canceled")
    assert erasures_run() == 0
    assert ids(project) == {1, 2, 3, 4, 9}
    assert not Retention.objects.exists()


def test_a_worker_with_the_setting_of_before_stops(as_alice: Any, project: Any, aged: None) -> None:
    as_alice.put(URL, {"days": 15})
    [taken] = jobs.claim(
        Erasure.objects.all(), owner="w", limit=1, lease=timedelta(minutes=1), now=clock.now()
    )
    as_alice.put(URL, {"days": 35})
    assert not jobs.renew(
        Erasure, [taken.pk], owner="w", lease=timedelta(minutes=1), now=clock.now()
    )
    assert erasures_run() == 1
    assert ids(project) == {1, 2, 3, 9}


def test_the_server_keeps_nothing_longer(as_alice: Any, settings: Settings) -> None:
    settings.HONE_TRACES_RETENTION_DAYS = 30
    answer = as_alice.put(URL, {"days": 31})
    assert answer.status_code == 400
    assert "30" in answer.json()["error"]["message"]
    assert as_alice.put(URL, {"days": 30}).json()["server_days"] == 30


@pytest.mark.parametrize("days", [0, -1, 1.5, "many", 10**9, True])
def test_days_that_cannot_be_meant_are_refused(as_alice: Any, days: object) -> None:
    answer = as_alice.put(URL, {"days": days})
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["field"] == "days"
    assert not Retention.objects.exists()


def test_only_admins_see_and_set_it(
    as_role: Any, as_bob: Any, as_key: Any, as_charlie: Any, as_alice: Any
) -> None:
    for api in (as_role(Role.VIEWER), as_bob, as_key):
        assert api.put(URL, {"days": 5}).status_code == 403
        assert api.get(URL).status_code == 403
        assert api.get(f"{URL}/older?days=5").status_code == 403
    assert as_charlie.put(URL, {"days": 5}).status_code == 404
    assert as_charlie.get(URL).status_code == 404
    assert as_charlie.get(f"{URL}/older?days=5").status_code == 404
    assert not Retention.objects.exists()
    assert as_role(Role.ADMIN).put(URL, {"days": 5}).status_code == 200
    assert as_alice.get(URL).json()["days"] == 5


def test_a_change_is_told_with_its_author(
    as_alice: Any,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(import_module("hone.common.events.publish"), "_send", told.append)
    with django_capture_on_commit_callbacks(execute=True):
        as_alice.put(URL, {"days": 5})
    assert [(one.kind, one.payload) for one in told] == [
        ("retention.changed", {"days": 5, "author": "Alice"})
    ]
