"""Experiments: runs of every kind, of datasets and of data that only the sender has."""

from datetime import datetime
from typing import Any, Final

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.common.paging import paginate
from hone.common.schema import page_of
from hone.evals.api import bodies
from hone.evals.api.encode import execution_row, run_row
from hone.evals.models import DatasetRun
from hone.evals.selectors.comparison import summaries
from hone.evals.selectors.datasets import datasets
from hone.evals.selectors.executions import executions_of
from hone.evals.selectors.runs import run_get, run_items, runs
from hone.traces.api.params import PAGE_PARAMETERS

_NEWEST: Final = {"-started_at": datetime, "-id": int}


def experiment_rows(project_id: int, found: list[DatasetRun]) -> list[dict[str, Any]]:
    """Runs in figures, each with the dataset it went over, if that is known."""
    keys = {run.dataset_key for run in found if run.dataset_key}
    known = {d.key: d for d in datasets(project_id).filter(key__in=keys)}
    rows = []
    for summary in summaries(project_id, found):
        dataset = known.get(summary.run.dataset_key)
        said = {"id": dataset.key, "name": dataset.name} if dataset else None
        rows.append({**run_row(summary), "dataset": said})
    return rows


class Experiments(ProjectView):
    @extend_schema(parameters=PAGE_PARAMETERS, responses=page_of(bodies.ExperimentBody))
    def get(self, request: Request, project: str) -> Response:
        project_id = self.access.project.pk
        page = paginate(runs(project_id), request.query_params, _NEWEST)
        return Response(
            {"data": experiment_rows(project_id, page.rows), "next_cursor": page.next_cursor}
        )


class ExperimentDetail(ProjectView):
    @extend_schema(responses=bodies.ExperimentBody)
    def get(self, request: Request, project: str, run: str) -> Response:
        project_id = self.access.project.pk
        return Response(experiment_rows(project_id, [run_get(project_id, run)])[0])


class Executions(ProjectView):
    @extend_schema(parameters=PAGE_PARAMETERS, responses=page_of(bodies.ExperimentItemBody))
    def get(self, request: Request, project: str, run: str) -> Response:
        project_id = self.access.project.pk
        rows = run_items(project_id, run_keys=[run_get(project_id, run).key])
        page = paginate(rows, request.query_params, _NEWEST)
        data = [
            {
                "item_id": found.row.item_key,
                "input": found.input if found.input is not None else _input(found),
                "expected_output": found.expected_output,
                "execution": execution_row(found),
            }
            for found in executions_of(project_id, page.rows)
        ]
        return Response({"data": data, "next_cursor": page.next_cursor})


def _input(found: Any) -> Any:
    """What the item has, where the execution recorded nothing."""
    return found.item.input if found.item else None
