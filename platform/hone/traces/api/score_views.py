"""Scores and score configs: what people see and give."""

from datetime import datetime
from typing import Any, Final

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.common.errors import InvalidError
from hone.common.paging import paginate
from hone.common.schema import page_of, read
from hone.traces.api import said_bodies as bodies
from hone.traces.api.params import PAGE_PARAMETERS, instant
from hone.traces.core.ids import span_key, trace_key
from hone.traces.core.scores import ScoreWrite
from hone.traces.models import Score, ScoreConfig
from hone.traces.selectors.query import limited
from hone.traces.selectors.score_configs import score_config_get, score_configs
from hone.traces.selectors.scores import (
    ScoreFilter,
    score_get,
    score_means,
    score_names,
    scores,
)
from hone.traces.services.score_configs import score_config_create, score_config_update
from hone.traces.services.scores import score_delete, score_upsert

_EQUAL: Final = {
    "trace_id": "trace_ids",
    "observation_id": "observation_ids",
    "session_id": "session_ids",
    "run_id": "run_ids",
    "name": "names",
    "source": "sources",
    "type": "types",
    "environment": "environments",
}
MOST_MEANS: Final = 200


def score_row(score: Score) -> dict[str, Any]:
    is_text = score.type in ("CATEGORICAL", "TEXT", "CORRECTION")
    return {
        "id": score.key,
        "trace_id": score.trace_id or None,
        "observation_id": score.observation_id or None,
        "session_id": score.session_id or None,
        "run_id": score.run_id or None,
        "name": score.name,
        "type": score.type,
        "source": score.source,
        "number": score.number,
        "text": score.text if is_text else None,
        "comment": score.comment or None,
        "metadata": score.metadata,
        "environment": score.environment,
        "config_id": score.config.key if score.config else None,
        "author": score.author_name or None,
        "timestamp": score.timestamp,
        "updated_at": score.updated_at,
    }


def config_row(config: ScoreConfig) -> dict[str, Any]:
    return {
        "id": config.key,
        "name": config.name,
        "type": config.type,
        "description": config.description,
        "min_value": config.min_value,
        "max_value": config.max_value,
        "categories": config.categories or [],
        "is_archived": config.is_archived,
        "created_at": config.created_at,
        "updated_at": config.updated_at,
    }


class Scores(ProjectView):
    @extend_schema(
        parameters=[
            *(OpenApiParameter(name, str) for name in _EQUAL),
            OpenApiParameter("from", datetime),
            OpenApiParameter("to", datetime),
            *PAGE_PARAMETERS,
        ],
        responses=page_of(bodies.ScoreBody),
    )
    def get(self, request: Request, project: str) -> Response:
        params = request.query_params
        if any("\x00" in value for value in params.values()):
            raise InvalidError("A parameter holds a NUL character")
        given = {field: [params[name]] for name, field in _EQUAL.items() if params.get(name)}
        for field, key_of in (("trace_ids", trace_key), ("observation_ids", span_key)):
            if field in given:
                given[field] = [key_of(text) for text in given[field]]
        wanted = ScoreFilter(
            project_id=self.access.project.pk,
            start=instant(params, "from"),
            end=instant(params, "to"),
            **given,  # type: ignore[arg-type]
        )
        with limited(what="The list of scores"):
            page = paginate(scores(wanted), params, {"-timestamp": datetime, "-id": int})
        return Response(page.body(score_row))

    @extend_schema(request=bodies.ScoreCreate, responses={201: bodies.ScoreBody})
    def post(self, request: Request, project: str) -> Response:
        fields = read(bodies.ScoreCreate, request)
        value = fields.pop("number", None)
        text = fields.pop("text", None)
        if (value is None) == (text is None):
            raise InvalidError("number: want one of number and text", field="number")
        config = fields.pop("config_id", None)
        is_judged = bool(config) or fields.get("type") == "CORRECTION"
        write = ScoreWrite(
            key=fields.pop("id", None),
            value=text if value is None else value,
            config=config,
            source="ANNOTATION" if is_judged and self.access.user else "API",
            **fields,
        )
        project_id = self.access.project.pk
        key = score_upsert(project_id=project_id, write=write, author=self.access)
        return Response(score_row(score_get(project_id, key)), status=201)


class ScoreDetail(ProjectView):
    @extend_schema(responses=bodies.ScoreBody)
    def get(self, request: Request, project: str, score: str) -> Response:
        return Response(score_row(score_get(self.access.project.pk, score)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, project: str, score: str) -> Response:
        score_delete(project_id=self.access.project.pk, key=score)
        return Response(status=204)


class ScoreMeans(ProjectView):
    """What the scores of some traces come to, for lists."""

    @extend_schema(
        parameters=[OpenApiParameter("trace_ids", str, description="Up to 200, with commas")],
        responses=bodies.ScoreMeansBody,
    )
    def get(self, request: Request, project: str) -> Response:
        ids = [text for text in request.query_params.get("trace_ids", "").split(",") if text]
        if len(ids) > MOST_MEANS:
            raise InvalidError(
                f"trace_ids: got {len(ids)}, at most {MOST_MEANS}", field="trace_ids"
            )
        means = score_means(self.access.project.pk, [trace_key(text) for text in ids])
        return Response(
            {"traces": [{"trace_id": i, "scores": found} for i, found in means.items() if found]}
        )


class ScoreNames(ProjectView):
    """Which scores there are, to filter by."""

    @extend_schema(responses=bodies.ScoreNamesBody)
    def get(self, request: Request, project: str) -> Response:
        names = score_names(self.access.project.pk)
        return Response({"names": [{"name": name, "type": kind} for name, kind in names]})


class ScoreConfigs(ProjectView):
    @extend_schema(parameters=PAGE_PARAMETERS, responses=page_of(bodies.ScoreConfigBody))
    def get(self, request: Request, project: str) -> Response:
        rows = score_configs(self.access.project.pk)
        page = paginate(rows, request.query_params, {"name": str, "id": int})
        return Response(page.body(config_row))

    @extend_schema(request=bodies.ScoreConfigCreate, responses={201: bodies.ScoreConfigBody})
    def post(self, request: Request, project: str) -> Response:
        fields = read(bodies.ScoreConfigCreate, request)
        config = score_config_create(project_id=self.access.project.pk, **fields)
        return Response(config_row(config), status=201)


class ScoreConfigDetail(ProjectView):
    @extend_schema(responses=bodies.ScoreConfigBody)
    def get(self, request: Request, project: str, config: str) -> Response:
        return Response(config_row(score_config_get(self.access.project.pk, config)))

    @extend_schema(request=bodies.ScoreConfigUpdate, responses=bodies.ScoreConfigBody)
    def patch(self, request: Request, project: str, config: str) -> Response:
        fields = read(bodies.ScoreConfigUpdate, request)
        found = score_config_update(project_id=self.access.project.pk, key=config, **fields)
        return Response(config_row(found))
