"""Scores: types, targets, configs, repeats, both protocols' reads."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hone.common.errors import InvalidError
from hone.traces.api import score_public, score_views
from hone.traces.core.scores import Category, Rules, ScoreValue, ScoreWrite, score_value
from hone.traces.models import Score
from hone.traces.selectors import query
from hone.traces.selectors import scores as selectors_scores
from hone.traces.selectors.query import fetch
from hone.traces.selectors.scores import score_condition, score_means, scores_of_traces
from hone.traces.services import trace_delete
from hone.traces.services.scores import scores_upsert

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PROJECT = "/api/projects/demo"


def basic(key: Any) -> dict[str, str]:
    pair = f"{key.row.public_key}:{key.secret}"
    return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


@pytest.fixture
def public(as_nobody, api_key):
    """`public("GET", "/v3/scores?…")`: the public API with the project's key."""

    def call(method: str, path: str, body: Any = None, key: Any = api_key) -> Any:
        return as_nobody.generic(
            method, f"/api/public{path}", b"" if body is None else body, headers=basic(key)
        )

    return call


@pytest.mark.parametrize(
    ("value", "kind", "wanted"),
    [
        (0.5, None, ScoreValue("NUMERIC", 0.5)),
        ("good", None, ScoreValue("CATEGORICAL", None, "good")),
        (1.0, "BOOLEAN", ScoreValue("BOOLEAN", 1.0)),
        (True, "BOOLEAN", ScoreValue("BOOLEAN", 1.0)),
        ("so", "TEXT", ScoreValue("TEXT", None, "so")),
        ("", "CORRECTION", ScoreValue("CORRECTION", None, "")),
    ],
)
def test_a_value_has_a_type(value, kind, wanted) -> None:
    assert score_value(value, kind) == wanted


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (float("nan"), None),
        (float("inf"), "NUMERIC"),
        ("1", "NUMERIC"),
        (2, "BOOLEAN"),
        ("", "CATEGORICAL"),
        ("x" * 501, "TEXT"),
        (1, "TEXT"),
        (1, "GUESS"),
    ],
)
def test_a_value_that_its_type_cannot_hold_is_refused(value, kind) -> None:
    with pytest.raises(InvalidError):
        score_value(value, kind)


def test_a_config_decides_range_and_categories() -> None:
    stars = Rules("NUMERIC", 1, 5)
    assert score_value(5, None, stars).number == 5
    with pytest.raises(InvalidError, match="at most 5"):
        score_value(5.1, None, stars)
    with pytest.raises(InvalidError, match="wants NUMERIC"):
        score_value("x", "CATEGORICAL", stars)
    tone = Rules("CATEGORICAL", categories=[Category("warm", 1), Category("cold", 0)])
    assert score_value("warm", None, tone) == ScoreValue("CATEGORICAL", 1, "warm")
    with pytest.raises(InvalidError, match="one of warm, cold"):
        score_value("hot", None, tone)


def write(**fields: Any) -> ScoreWrite:
    return ScoreWrite(**{"name": "q", "value": 0.5, "trace_id": TRACE, "key": "s1", **fields})


def upsert(project, *writes: ScoreWrite) -> list[str | None]:
    outcomes = scores_upsert(project_id=project.pk, writes=writes)
    return [o.error.message if o.error else None for o in outcomes]


def test_the_latest_word_stands_whatever_the_order_of_arrival(project) -> None:
    newer = write(value=0.9, said_at=NOW, comment="c", metadata={"b": 1, "a": 2})
    older = write(value=0.1, said_at=NOW - timedelta(seconds=5))
    again = write(value=0.7, said_at=NOW + timedelta(seconds=5), trace_id="f" * 32)
    assert upsert(project, newer) == upsert(project, older) == [None]
    assert Score.objects.get().number == 0.9
    upsert(project, again)
    score = Score.objects.get()
    assert (score.number, score.comment, score.trace_id) == (0.7, "c", TRACE)
    assert list(score.metadata) == ["b", "a"]


def test_a_bad_score_hinders_no_other(project) -> None:
    said = upsert(
        project,
        write(key="a", trace_id=None),
        write(key="b", session_id="s", trace_id=None),
        write(key="c", session_id="s"),
        write(key="d", run_id="r", trace_id=None, observation_id=SPAN),
        write(key="e", config="none"),
        write(key="f", source="ANNOTATION"),
        write(key="g", observation_id=SPAN),
        write(key="h", name="\x00", value="a\x00b"),
    )
    assert [text is None for text in said] == [False, True, False, False, False, False, True, True]
    assert set(Score.objects.values_list("key", flat=True)) == {"b", "g", "h"}
    assert Score.objects.get(key="h").text == "a\\u0000b"


def test_an_id_that_no_index_takes_is_refused(project) -> None:
    wild = "".join(chr(0x1F300 + number % 700) for number in range(800))
    refused = [write(key=wild), write(session_id=wild, trace_id=None), write(key="a", run_id=wild)]
    taken = [write(key="d", trace_id=wild[:400]), write(key="c" * 2000)]
    said = upsert(project, *refused, *taken)
    assert [text is None for text in said] == [False, False, False, True, True]


def test_what_scores_come_to(project) -> None:
    upsert(
        project,
        write(key="1", value=0.2),
        write(key="2", value=0.4, observation_id=SPAN),
        write(key="3", name="tone", value="warm"),
        write(key="4", name="tone", value="cold"),
        write(key="5", name="tone", value="cold"),
        write(key="6", name="ok", value=1, type="BOOLEAN"),
        write(key="7", name="fix", value="better", type="CORRECTION"),
    )
    found = {m.name: (m.count, m.mean, m.label) for m in score_means(project.pk, [TRACE])[TRACE]}
    assert found == {
        "ok": (1, 1, None),
        "q": (2, pytest.approx(0.3), None),
        "tone": (3, None, "cold"),
    }
    assert len(scores_of_traces(project.pk, [TRACE])[TRACE]) == 7


def test_a_condition_finds_traces_by_score(project, make_trace) -> None:
    make_trace(TRACE)
    make_trace("e" * 32)
    upsert(project, write(value=0.8), write(key="2", name="tone", value="warm"))

    def found(*condition: Any) -> int:
        sql, values = score_condition(*condition)
        return int(fetch(f"SELECT count(*) FROM traces_trace t WHERE {sql}", values)[0][0])

    assert found("q", ">=", 0.8) == found("tone", "=", "warm") == 1
    assert found("q", ">", 0.8) == found("tone", "=", "cold") == found("x", "=", 0.8) == 0
    with pytest.raises(InvalidError):
        score_condition("q", "; DROP", 1)


def test_a_deleted_trace_takes_its_scores_along(project, make_trace) -> None:
    make_trace(TRACE)
    upsert(project, write(), write(key="2", observation_id=SPAN), write(key="3", trace_id="e" * 32))
    assert trace_delete(project_id=project.pk, trace_id=TRACE)
    assert list(Score.objects.values_list("key", flat=True)) == ["3"]


def test_one_score_and_a_batch_in_the_public_api(public) -> None:
    body = {"traceId": TRACE, "name": "q", "value": 1, "id": "x/1"}
    assert public("POST", "/scores", body).json() == {"id": "x/1"}
    batch = [
        {"traceId": TRACE, "name": "n", "value": 0.5, "timestamp": "2026-11-30T12:00:00+01:00"},
        {"sessionId": "s 1", "name": "tone", "value": "warm", "metadata": {"m": 1}},
        {"datasetRunId": "r1", "name": "avg", "value": 1.0, "dataType": "BOOLEAN"},
    ]
    answer = public("POST", "/scores", batch)
    assert (answer.status_code, answer.json()) == (202, {"message": "Accepted"})
    mixed = [*batch, {"name": "q"}, {"traceId": TRACE, "name": "x", "value": 1, "source": "EVAL"}]
    answer = public("POST", "/scores", mixed)
    assert answer.status_code == 207
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (3, 2)
    assert "value" in answer.json()["errors"][0]["message"]
    assert public("POST", "/scores", {"name": "q", "value": 1}).status_code == 400
    assert public("GET", "/v2/scores/x/1").json()["value"] == 1
    assert public("DELETE", "/scores/x/1").status_code == 202
    assert public("GET", "/v2/scores/x/1").json()["error"] == "LangfuseNotFoundError"


def test_reads_of_every_version(public, project) -> None:
    upsert(
        project,
        write(key="1", timestamp=NOW),
        write(key="2", timestamp=NOW, value=1, type="BOOLEAN", name="b", observation_id=SPAN),
        write(key="3", timestamp=NOW, value="warm", name="t", trace_id=None, session_id="s"),
        write(key="4", timestamp=NOW, value=3, name="r", trace_id=None, run_id="run"),
        write(key="5", timestamp=NOW, value="x", type="TEXT", name="text"),
    )
    v1 = public("GET", "/scores?limit=2").json()
    assert v1["meta"] == {"page": 1, "limit": 2, "totalItems": 3, "totalPages": 2}
    v2 = {row["id"]: row for row in public("GET", "/v2/scores").json()["data"]}
    assert (v2["2"]["value"], v2["2"]["stringValue"], v2["2"]["observationId"]) == (1, "True", SPAN)
    assert (v2["3"]["value"], v2["3"]["stringValue"], v2["3"]["traceId"]) == (0, "warm", None)
    assert v2["4"]["datasetRunId"] == "run"
    page = public("GET", "/v3/scores?limit=3&fields=details,subject").json()
    rest = public("GET", f"/v3/scores?limit=3&cursor={page['meta']['cursor']}").json()
    assert page["meta"]["limit"] == 3
    assert "cursor" not in rest["meta"]
    rows = {row["id"]: row for row in [*page["data"], *rest["data"]]}
    assert rows["2"]["value"] is True
    assert rows["2"]["subject"] == {"kind": "observation", "id": SPAN, "traceId": TRACE}
    assert rows["3"]["subject"] == {"kind": "session", "id": "s"}
    assert rows["4"]["subject"] == {"kind": "experiment", "id": "run"}
    assert (rows["5"]["value"], rows["5"]["projectId"]) == ("x", "demo")


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        (f"traceId={TRACE}", {"1", "2"}),
        (f"traceId={TRACE}&observationId={SPAN}", {"2"}),
        ("name=q,t", {"1", "3"}),
        ("dataType=NUMERIC&valueMin=0.4&valueMax=0.6", {"1"}),
        ("value=warm", {"3"}),
        ("value=true", {"2"}),
        ("sessionId=s", {"3"}),
        ("experimentId=run", set()),
        ("fromTimestamp=2026-11-30T12:00:01Z", set()),
        ("id=2,3&source=API", {"2", "3"}),
    ],
)
def test_v3_filters(public, project, query, keys) -> None:
    upsert(
        project,
        write(key="1", timestamp=NOW),
        write(key="2", timestamp=NOW, value=1, type="BOOLEAN", name="b", observation_id=SPAN),
        write(key="3", timestamp=NOW, value="warm", name="t", trace_id=None, session_id="s"),
    )
    assert {row["id"] for row in public("GET", f"/v3/scores?{query}").json()["data"]} == keys


def test_configs_in_the_public_api(public) -> None:
    made = public(
        "POST",
        "/score-configs",
        {"name": "tone", "dataType": "CATEGORICAL", "categories": [{"label": "a", "value": 0}]},
    ).json()
    assert made["projectId"] == "demo"
    assert public("GET", "/score-configs").json()["meta"]["totalItems"] == 1
    body = {"traceId": TRACE, "name": "tone", "value": "b", "configId": made["id"]}
    assert public("POST", "/scores", body).status_code == 400
    assert public("POST", "/scores", {**body, "value": "a", "name": "x"}).status_code == 400
    assert public("POST", "/scores", {**body, "value": "a"}).status_code == 200
    path = f"/score-configs/{made['id']}"
    assert public("PATCH", path, {"isArchived": True}).json()["isArchived"] is True
    assert public("GET", path).json()["categories"] == [{"label": "a", "value": 0}]
    bad = {"name": "n", "dataType": "NUMERIC", "minValue": 2, "maxValue": 1}
    assert public("POST", "/score-configs", bad).status_code == 400


def test_another_projects_key_sees_and_changes_nothing(public, project, foreign_key) -> None:
    upsert(project, write())
    for path in ("/scores", "/v2/scores", "/v3/scores", "/score-configs"):
        assert public("GET", path, key=foreign_key).json()["data"] == []
    assert public("GET", "/v2/scores/s1", key=foreign_key).status_code == 404
    assert public("DELETE", "/scores/s1", key=foreign_key).status_code == 404
    theirs = {"id": "s1", "traceId": TRACE, "name": "q", "value": 9}
    assert public("POST", "/scores", theirs, key=foreign_key).status_code == 200
    assert Score.objects.get(project=project).number == 0.5


def test_people_score_by_a_config(as_alice, as_bob, as_charlie) -> None:
    config = as_alice.post(
        f"{PROJECT}/score-configs", {"name": "stars", "type": "NUMERIC", "max_value": 5}
    ).json()
    body = {"name": "stars", "number": 4, "trace_id": TRACE, "config_id": config["id"]}
    made = as_bob.post(f"{PROJECT}/scores", body)
    assert made.status_code == 201, made.content
    assert (made.json()["source"], made.json()["author"]) == ("ANNOTATION", "Bob")
    assert as_bob.post(f"{PROJECT}/scores", {**body, "number": 6}).status_code == 400
    assert as_bob.post(f"{PROJECT}/scores", {**body, "text": "x"}).status_code == 400
    listed = as_alice.get(f"{PROJECT}/scores?trace_id={TRACE}").json()["data"]
    assert [row["id"] for row in listed] == [made.json()["id"]]
    means = as_alice.get(f"{PROJECT}/scores/means?trace_ids={TRACE},{'e' * 32}").json()
    assert means["traces"][0]["scores"][0]["mean"] == 4
    assert as_alice.get(f"{PROJECT}/scores/names").json()["names"] == [
        {"name": "stars", "type": "NUMERIC"}
    ]
    path = f"{PROJECT}/scores/{made.json()['id']}"
    assert as_charlie.delete(path).status_code == 404
    assert as_alice.delete(path).status_code == 204
    assert as_alice.get(path).status_code == 404


@pytest.mark.parametrize(
    "path",
    [f"{PROJECT}/scores", *(f"/api/public{v}/scores" for v in ("", "/v2", "/v3"))],
)
@pytest.mark.django_db
def test_a_list_that_takes_too_long_is_told_in_words(
    as_key, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Whatever makes it slow: here every row of it does."""
    score = {"id": "s", "traceId": TRACE, "name": "n", "value": 1}
    assert as_key.post("/api/public/scores", score).status_code == 200
    listed = selectors_scores.scores

    def slowly(wanted: Any) -> Any:
        return listed(wanted).extra(where=["pg_sleep(20) IS NULL"])

    for module in (score_public, score_views):
        monkeypatch.setattr(module, "scores", slowly)
    monkeypatch.setattr(query, "PATIENCE_MS", 50)
    answer = as_key.get(path)
    assert answer.status_code == 400
    assert "The list of scores takes too long" in answer.content.decode()
    monkeypatch.undo()
    assert len(as_key.get(path).json()["data"]) == 1
