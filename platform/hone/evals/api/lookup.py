"""Datasets as clients name them."""

from urllib.parse import unquote

from hone.evals.models import Dataset
from hone.evals.selectors.datasets import dataset_by_name, dataset_named


def dataset_called(project_id: int, name: str) -> Dataset:
    """The dataset of that name; some SDKs escape a name twice. Raises NotFoundError."""
    if "%" in name and dataset_named(project_id, name) is None:
        return dataset_by_name(project_id, unquote(name))
    return dataset_by_name(project_id, name)
