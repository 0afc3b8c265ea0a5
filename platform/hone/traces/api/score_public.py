"""Scores in the public API: written one by one or in batches, read as v1, v2 and v3."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from django.http import QueryDict
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.public import PublicView
from hone.common.errors import InvalidError
from hone.common.paging import cursor_decode, cursor_encode
from hone.common.public import (
    comma_list,
    cursor_body,
    moment_of,
    number_of,
    page_body,
    page_query,
    repeated,
)
from hone.traces.api.score_shapes import score_body, score_body_v3
from hone.traces.core.ids import span_key, trace_key
from hone.traces.models import Score
from hone.traces.selectors.external_ids import external_ids
from hone.traces.selectors.query import limited
from hone.traces.selectors.scores import ScoreFilter, score_get, scores
from hone.traces.services.score_event import score_write_of
from hone.traces.services.scores import score_delete, score_upsert, scores_upsert

MAX_BATCH: Final = 1000
_GROUPS: Final = ("details", "subject", "annotation")
_ORDER: Final = ("-timestamp", "-id")


def names_for(project_id: int, found: Iterable[Score]) -> Mapping[str, str]:
    """The ids that clients gave, for what these scores are about."""
    return external_ids(project_id, {i for s in found for i in (s.trace_id, s.observation_id) if i})


class PublicScores(PublicView):
    """POST of one score or of a list; GET as v1, of traces only."""

    of_traces_only = True

    def post(self, request: Request) -> Response:
        body: Any = request.data
        if isinstance(body, list):
            return self._batch(body)
        key = score_upsert(
            project_id=self.project.pk, write=score_write_of(body), author=self.access
        )
        return Response({"id": key})

    def _batch(self, bodies: list[Any]) -> Response:
        """202 for a batch without fault, else 207 with what was wrong."""
        if len(bodies) > MAX_BATCH:
            raise InvalidError(f"A batch has {len(bodies)} scores, at most {MAX_BATCH}")
        problems, writes = [], []
        for body in bodies:
            try:
                writes.append(score_write_of(body))
            except InvalidError as problem:
                problems.append(problem.message)
        outcomes = scores_upsert(project_id=self.project.pk, writes=writes, author=self.access)
        problems += [o.error.message for o in outcomes if o.error is not None]
        if not problems:
            return Response({"message": "Accepted"}, status=202)
        body = {
            "accepted": len(bodies) - len(problems),
            "rejected": len(problems),
            "errors": [{"message": text} for text in problems],
        }
        return Response(body, status=207)

    def get(self, request: Request) -> Response:
        params = request.query_params
        query = page_query(params)
        rows = scores(_filter(self.project.pk, params))
        if self.of_traces_only:
            rows = rows.exclude(trace_id="")
        with limited(what="The list of scores", field="fromTimestamp"):
            page = list(rows.order_by(*_ORDER)[query.offset : query.offset + query.limit])
            count = rows.count()
        names = names_for(self.project.pk, page)
        return Response(page_body([score_body(row, names) for row in page], query, count))


class PublicScoresV2(PublicScores):
    of_traces_only = False
    http_method_names = ("get", "head", "options")


class PublicScore(PublicView):
    def get(self, request: Request, score: str) -> Response:
        found = score_get(self.project.pk, score)
        return Response(score_body(found, names_for(self.project.pk, [found])))


class PublicScoreV1(PublicScore):
    def delete(self, request: Request, score: str) -> Response:
        score_delete(project_id=self.project.pk, key=score)
        return Response({"message": "Score deleted"}, status=202)


class PublicScoresV3(PublicView):
    def get(self, request: Request) -> Response:
        params = request.query_params
        limit = number_of(params, "limit", minimum=1, maximum=100) or 50
        rows = scores(_filter_v3(self.project.pk, params))
        if cursor := params.get("cursor"):
            moment, after = cursor_decode(cursor, [datetime, int])
            rows = rows.filter(timestamp__lte=moment).exclude(timestamp=moment, id__gte=after)
        with limited(what="The list of scores", field="fromTimestamp"):
            page = list(rows.order_by(*_ORDER)[: limit + 1])
        following = None
        if len(page) > limit:
            latest = page[limit - 1]
            following = cursor_encode([latest.timestamp.isoformat(), latest.pk])
        groups = _groups(params)
        names = names_for(self.project.pk, page)
        data = [score_body_v3(row, self.project.slug, groups, names) for row in page[:limit]]
        return Response(cursor_body(data, following, limit=limit))


def _groups(params: QueryDict) -> list[str]:
    groups = comma_list(params, "fields") if "fields" in params else ["details", "subject"]
    if unknown := sorted(set(groups) - {"core", *_GROUPS}):
        raise InvalidError(f"fields: got {unknown[0]!r}, want {', '.join(_GROUPS)}", field="fields")
    return groups


def _filter(project_id: int, params: QueryDict) -> ScoreFilter:
    """What v1 and v2 ask for."""
    low, high, value = None, None, _number(params, "value")
    operator = params.get("operator") or "="
    if value is not None:
        if operator not in ("=", ">=", "<=", ">", "<"):
            raise InvalidError(f"operator: got {operator!r}, want = > < >= <=", field="operator")
        low = value if operator in ("=", ">=", ">") else None
        high = value if operator in ("=", "<=", "<") else None
    return ScoreFilter(
        project_id=project_id,
        keys=comma_list(params, "scoreIds"),
        names=_one(params, "name"),
        sources=_one(params, "source"),
        types=_one(params, "dataType"),
        environments=repeated(params, "environment"),
        configs=_one(params, "configId"),
        queues=_one(params, "queueId"),
        session_ids=_one(params, "sessionId"),
        run_ids=_one(params, "datasetRunId"),
        trace_ids=[trace_key(i) for i in _one(params, "traceId")],
        observation_ids=[span_key(i) for i in comma_list(params, "observationId")],
        user_ids=_one(params, "userId"),
        tags=repeated(params, "traceTags"),
        value_min=low,
        value_max=high,
        value_not=value if operator in (">", "<") else None,
        start=moment_of(params, "fromTimestamp"),
        end=moment_of(params, "toTimestamp"),
    )


def _filter_v3(project_id: int, params: QueryDict) -> ScoreFilter:
    kinds = comma_list(params, "dataType")
    low, high = _number(params, "valueMin"), _number(params, "valueMax")
    if (low is not None or high is not None) and kinds != ["NUMERIC"]:
        raise InvalidError("valueMin and valueMax want dataType=NUMERIC", field="dataType")
    observations = [span_key(i) for i in comma_list(params, "observationId")]
    traces = [trace_key(i) for i in comma_list(params, "traceId")]
    if observations and not traces:
        raise InvalidError("observationId: wants its traceId beside it", field="observationId")
    return ScoreFilter(
        project_id=project_id,
        keys=comma_list(params, "id"),
        names=comma_list(params, "name"),
        sources=comma_list(params, "source"),
        types=kinds,
        environments=comma_list(params, "environment"),
        configs=comma_list(params, "configId"),
        queues=comma_list(params, "queueId"),
        authors=[i for i in comma_list(params, "authorUserId") if i.isdecimal()],
        values=comma_list(params, "value"),
        trace_ids=traces,
        observation_ids=observations,
        session_ids=comma_list(params, "sessionId"),
        run_ids=comma_list(params, "experimentId"),
        value_min=low,
        value_max=high,
        start=moment_of(params, "fromTimestamp"),
        end=moment_of(params, "toTimestamp"),
    )


def _one(params: QueryDict, name: str) -> list[str]:
    value = params.get(name) or ""
    if "\x00" in value:
        raise InvalidError(f"{name}: holds a NUL character", field=name)
    return [value] if value else []


def _number(params: QueryDict, name: str) -> float | None:
    text = params.get(name)
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidError(f"{name}: got {text[:40]!r}, want a number", field=name) from None
