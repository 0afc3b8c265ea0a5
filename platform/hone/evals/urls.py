from django.urls import path

from hone.evals.api import experiment_views, public_datasets, public_experiments, public_runs, views

DATASET = "projects/<slug:project>/datasets/<str:dataset>"

# A name may hold slashes, so what follows a name is matched first.
urlpatterns = [
    path("projects/<slug:project>/datasets", views.Datasets.as_view()),
    path(DATASET, views.DatasetDetail.as_view()),
    path(f"{DATASET}/items", views.Items.as_view()),
    path(f"{DATASET}/items/<path:item>", views.ItemDetail.as_view()),
    path(f"{DATASET}/runs", views.Runs.as_view()),
    path(f"{DATASET}/runs/<path:run>", views.RunDetail.as_view()),
    path(f"{DATASET}/comparison", views.Comparison.as_view()),
    path("projects/<slug:project>/experiments", experiment_views.Experiments.as_view()),
    path(
        "projects/<slug:project>/experiments/<str:run>/items",
        experiment_views.Executions.as_view(),
    ),
    path(
        "projects/<slug:project>/experiments/<str:run>",
        experiment_views.ExperimentDetail.as_view(),
    ),
    path("public/v2/datasets", public_datasets.PublicDatasets.as_view()),
    path("public/v2/datasets/<path:name>", public_datasets.PublicDataset.as_view()),
    path("public/datasets", public_datasets.PublicDatasets.as_view()),
    path("public/datasets/<path:name>/runs", public_runs.PublicRuns.as_view()),
    path("public/datasets/<path:name>/runs/<path:run>", public_runs.PublicRun.as_view()),
    path("public/dataset-items", public_datasets.PublicItems.as_view()),
    path("public/dataset-items/<path:item>", public_datasets.PublicItem.as_view()),
    path("public/dataset-run-items", public_runs.PublicRunItems.as_view()),
    path("public/experiments", public_experiments.PublicExperiments.as_view()),
    path("public/experiment-items", public_experiments.PublicExperimentItems.as_view()),
]
