"""What versions did in a stretch of time, by default the last 30 days."""

from dataclasses import asdict
from datetime import timedelta
from typing import Final

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.common import clock
from hone.common.errors import InvalidError
from hone.common.public import flag_of, number_of
from hone.prompts.api import measure_bodies as bodies
from hone.prompts.api.views import PromptView
from hone.prompts.core.measures import compared
from hone.prompts.core.names import MAX_NUMBER
from hone.prompts.selectors import newest_versions, prompt_trends, version_calls, version_figures
from hone.traces.api.params import FILTER_PARAMETERS, window_of
from hone.traces.core.rollup import HOUR, hour_at

WINDOW: Final = [p for p in FILTER_PARAMETERS if p.name in ("from", "to")]
MAX_CALLS: Final = 50
MAX_DAYS: Final = 90
TREND_STEPS: Final = 14


class Measures(PromptView):
    """Calls, failures, latency, tokens, cost and scores of the newest versions."""

    @extend_schema(
        responses=bodies.MeasuresBody,
        parameters=[
            *WINDOW,
            OpenApiParameter("versions", str, description="Numbers with commas; at most 20"),
        ],
    )
    def get(self, request: Request, project: str, name: str) -> Response:
        params = request.query_params
        start, end = window_of(params, {"from", "to", "versions"})
        prompt = self.prompt(name)
        asked = params.get("versions")
        numbers = _numbers(asked) if asked else newest_versions(prompt)
        figures = version_figures(prompt, numbers, start=start, end=end)
        rows = [bodies.figures_body(one) for one in figures]
        return Response({"start": start, "end": end, "versions": rows})


class Comparison(PromptView):
    """Two versions, measure by measure, each with its test."""

    @extend_schema(
        responses=bodies.ComparisonBody,
        parameters=[*WINDOW, *(OpenApiParameter(side, int, required=True) for side in "ab")],
    )
    def get(self, request: Request, project: str, name: str) -> Response:
        params = request.query_params
        start, end = window_of(params, {"from", "to", "a", "b"})
        one, two = (number_of(params, side, minimum=1, maximum=MAX_NUMBER) for side in ("a", "b"))
        if one is None or two is None or one == two:
            raise InvalidError("a, b: want two different versions", field="a" if not one else "b")
        prompt = self.prompt(name)
        for number in (one, two):
            self.version(prompt, number)
        found = version_figures(prompt, [one, two], start=start, end=end)
        by_number = {figures.version: figures for figures in found}
        rows = compared(by_number[one], by_number[two])
        return Response(
            {"start": start, "end": end, "a": one, "b": two, "rows": [asdict(row) for row in rows]}
        )


class VersionCalls(PromptView):
    """The newest calls of a version, or those that failed."""

    @extend_schema(
        responses=bodies.CallsBody,
        parameters=[
            *WINDOW,
            OpenApiParameter("failed", bool, description="Only those that failed"),
            OpenApiParameter("limit", int, description=f"1 to {MAX_CALLS}, default 5"),
        ],
    )
    def get(self, request: Request, project: str, name: str, number: int) -> Response:
        params = request.query_params
        start, end = window_of(params, {"from", "to", "failed", "limit"})
        prompt = self.prompt(name)
        calls = version_calls(
            prompt,
            self.version(prompt, number).number,
            start=start,
            end=end,
            failed=flag_of(params, "failed") is True,
            limit=number_of(params, "limit", minimum=1, maximum=MAX_CALLS) or 5,
        )
        return Response({"calls": [asdict(call) for call in calls]})


class Trends(ProjectView):
    """Calls and the commonest score of every prompt, in fourteen equal steps up to now."""

    @extend_schema(
        responses=bodies.TrendsBody,
        parameters=[OpenApiParameter("days", int, description=f"1 to {MAX_DAYS}, default 7")],
    )
    def get(self, request: Request, project: str) -> Response:
        days = number_of(request.query_params, "days", minimum=1, maximum=MAX_DAYS) or 7
        end = clock.now()
        step = timedelta(days=days) / TREND_STEPS
        if step % HOUR == timedelta(0):  # steps of whole hours come from figures by hour
            end = hour_at(end) + HOUR
        edges = [end - step * (TREND_STEPS - number) for number in range(TREND_STEPS + 1)]
        found = prompt_trends(self.access.project.pk, edges=edges)
        trends = {name: asdict(trend) for name, trend in found.items()}
        return Response({"start": edges[0], "end": end, "trends": trends})


def _numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and int(part[:10]) > 0 for part in parts):
        raise InvalidError(
            f"versions: got {text[:40]!r}, want numbers with commas", field="versions"
        )
    return [min(int(part[:10]), MAX_NUMBER) for part in parts]
