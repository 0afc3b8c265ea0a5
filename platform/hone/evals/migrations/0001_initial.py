import django.db.models.deletion
from django.db import migrations, models

import hone.common.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Dataset",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=40)),
                ("name", models.CharField(max_length=255)),
                ("description", models.TextField(blank=True)),
                ("metadata", hone.common.fields.JsonTextField(null=True)),
                ("input_schema", hone.common.fields.JsonTextField(null=True)),
                ("output_schema", hone.common.fields.JsonTextField(null=True)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="datasets",
                        to="accounts.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="DatasetItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.TextField()),
                (
                    "status",
                    models.CharField(
                        choices=[("ACTIVE", "Active"), ("ARCHIVED", "Archived")],
                        default="ACTIVE",
                        max_length=8,
                    ),
                ),
                ("input", hone.common.fields.JsonTextField(null=True)),
                ("expected_output", hone.common.fields.JsonTextField(null=True)),
                ("metadata", hone.common.fields.JsonTextField(null=True)),
                ("source_trace_id", models.TextField(default="")),
                ("source_observation_id", models.TextField(default="")),
                ("created_at", models.DateTimeField()),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField(null=True)),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="evals.dataset",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="DatasetRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.TextField()),
                ("dataset_key", models.TextField(default="")),
                ("name", models.TextField()),
                ("description", models.TextField(default="")),
                ("metadata", hone.common.fields.JsonTextField(null=True)),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="dataset_runs",
                        to="accounts.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="DatasetRunItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=40)),
                ("item_key", models.TextField()),
                ("trace_id", models.TextField()),
                ("observation_id", models.TextField(default="")),
                ("item_version", models.DateTimeField(null=True)),
                ("expected_output", hone.common.fields.JsonTextField(null=True)),
                ("item_metadata", hone.common.fields.JsonTextField(null=True)),
                ("started_at", models.DateTimeField()),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="evals.datasetrun",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="dataset",
            constraint=models.UniqueConstraint(fields=("project", "key"), name="evals_dataset_key"),
        ),
        migrations.AddConstraint(
            model_name="dataset",
            constraint=models.UniqueConstraint(
                fields=("project", "name"), name="evals_dataset_name"
            ),
        ),
        migrations.AddIndex(
            model_name="datasetitem",
            index=models.Index(
                condition=models.Q(("valid_to", None)),
                fields=["dataset", "-created_at", "-id"],
                name="evals_item_newest",
            ),
        ),
        migrations.AddIndex(
            model_name="datasetitem",
            index=models.Index(
                condition=models.Q(("source_trace_id", ""), _negated=True),
                fields=["project", "source_trace_id"],
                name="evals_item_source",
            ),
        ),
        migrations.AddConstraint(
            model_name="datasetitem",
            constraint=models.UniqueConstraint(
                condition=models.Q(("valid_to", None)),
                fields=("project", "key"),
                name="evals_item_now",
            ),
        ),
        migrations.AddConstraint(
            model_name="datasetitem",
            constraint=models.UniqueConstraint(
                fields=("project", "key", "valid_from"), name="evals_item_version"
            ),
        ),
        migrations.AddIndex(
            model_name="datasetrun",
            index=models.Index(fields=["project", "-started_at", "-id"], name="evals_run_newest"),
        ),
        migrations.AddIndex(
            model_name="datasetrun",
            index=models.Index(fields=["project", "dataset_key", "-id"], name="evals_run_dataset"),
        ),
        migrations.AddConstraint(
            model_name="datasetrun",
            constraint=models.UniqueConstraint(fields=("project", "key"), name="evals_run_key"),
        ),
        migrations.AddIndex(
            model_name="datasetrunitem",
            index=models.Index(fields=["run", "item_key"], name="evals_run_item_of"),
        ),
        migrations.AddIndex(
            model_name="datasetrunitem",
            index=models.Index(fields=["trace_id"], name="evals_run_item_trace"),
        ),
        migrations.AddConstraint(
            model_name="datasetrunitem",
            constraint=models.UniqueConstraint(fields=("run", "key"), name="evals_run_item_key"),
        ),
    ]
