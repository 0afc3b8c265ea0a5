import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import hone.common.fields


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("traces", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Media",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=22)),
                ("sha256", models.BinaryField()),
                ("content_type", models.CharField(max_length=255)),
                ("num_bytes", models.BigIntegerField()),
                ("created_at", models.DateTimeField()),
                ("uploaded_at", models.DateTimeField(null=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="media",
                        to="accounts.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="MediaChunk",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.IntegerField()),
                ("data", models.BinaryField()),
                (
                    "media",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chunks",
                        to="traces.media",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="MediaUse",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("field", models.CharField(max_length=20)),
                ("trace_id", models.TextField(default="")),
                ("observation_id", models.TextField(default="")),
                ("dataset_id", models.TextField(default="")),
                ("dataset_item_id", models.TextField(default="")),
                (
                    "media",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="uses",
                        to="traces.media",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ScoreConfig",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=40)),
                ("name", models.CharField(max_length=200)),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("NUMERIC", "NUMERIC"),
                            ("BOOLEAN", "BOOLEAN"),
                            ("CATEGORICAL", "CATEGORICAL"),
                            ("TEXT", "TEXT"),
                            ("CORRECTION", "CORRECTION"),
                        ],
                        max_length=12,
                    ),
                ),
                ("description", models.TextField(blank=True)),
                ("min_value", models.FloatField(null=True)),
                ("max_value", models.FloatField(null=True)),
                ("categories", hone.common.fields.JsonTextField(null=True)),
                ("is_archived", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="score_configs",
                        to="accounts.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Score",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.TextField()),
                ("trace_id", models.TextField(default="")),
                ("observation_id", models.TextField(default="")),
                ("session_id", models.TextField(default="")),
                ("run_id", models.TextField(default="")),
                ("name", models.TextField()),
                ("type", models.CharField(max_length=12)),
                ("source", models.CharField(max_length=12)),
                ("number", models.FloatField(null=True)),
                ("text", models.TextField(default="")),
                ("comment", models.TextField(default="")),
                ("metadata", hone.common.fields.JsonTextField(null=True)),
                ("environment", models.TextField(default="default")),
                ("queue_id", models.TextField(default="")),
                ("author_name", models.CharField(blank=True, max_length=254)),
                ("timestamp", models.DateTimeField()),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scores",
                        to="accounts.project",
                    ),
                ),
                (
                    "config",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="traces.scoreconfig",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=40)),
                (
                    "object_type",
                    models.CharField(
                        choices=[
                            ("TRACE", "Trace"),
                            ("OBSERVATION", "Observation"),
                            ("SESSION", "Session"),
                            ("PROMPT", "Prompt"),
                        ],
                        max_length=12,
                    ),
                ),
                ("object_id", models.TextField()),
                ("trace_id", models.TextField(default="")),
                ("content", models.TextField()),
                ("author_name", models.CharField(max_length=254)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="comments",
                        to="accounts.project",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["project", "object_type", "object_id"], name="traces_comment_object"
                    ),
                    models.Index(
                        condition=models.Q(("trace_id", ""), _negated=True),
                        fields=["project", "trace_id"],
                        name="traces_comment_trace",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "key"), name="traces_comment_key"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("object_type__in", ["TRACE", "OBSERVATION", "SESSION", "PROMPT"])
                        ),
                        name="traces_comment_kind",
                    ),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="media",
            constraint=models.UniqueConstraint(fields=("project", "key"), name="traces_media_key"),
        ),
        migrations.AddConstraint(
            model_name="media",
            constraint=models.CheckConstraint(
                condition=models.Q(("num_bytes__gt", 0)), name="traces_media_size"
            ),
        ),
        migrations.AddConstraint(
            model_name="mediachunk",
            constraint=models.UniqueConstraint(
                fields=("media", "position"), name="traces_media_chunk_at"
            ),
        ),
        migrations.AddIndex(
            model_name="mediause",
            index=models.Index(fields=["trace_id"], name="traces_media_use_trace"),
        ),
        migrations.AddConstraint(
            model_name="mediause",
            constraint=models.UniqueConstraint(
                fields=(
                    "media",
                    "trace_id",
                    "observation_id",
                    "dataset_id",
                    "dataset_item_id",
                    "field",
                ),
                name="traces_media_use_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="scoreconfig",
            constraint=models.UniqueConstraint(
                fields=("project", "key"), name="traces_score_config_key"
            ),
        ),
        migrations.AddConstraint(
            model_name="scoreconfig",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("type__in", ["NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION"]),
                    models.Q(("type", "CORRECTION"), _negated=True),
                ),
                name="traces_score_config_type",
            ),
        ),
        migrations.AddIndex(
            model_name="score",
            index=models.Index(
                condition=models.Q(("trace_id", ""), _negated=True),
                fields=["project", "trace_id"],
                name="traces_score_trace",
            ),
        ),
        migrations.AddIndex(
            model_name="score",
            index=models.Index(
                condition=models.Q(("session_id", ""), _negated=True),
                fields=["project", "session_id"],
                name="traces_score_session",
            ),
        ),
        migrations.AddIndex(
            model_name="score",
            index=models.Index(
                condition=models.Q(("run_id", ""), _negated=True),
                fields=["project", "run_id"],
                name="traces_score_run",
            ),
        ),
        migrations.AddIndex(
            model_name="score",
            index=models.Index(fields=["project", "-timestamp", "-id"], name="traces_score_newest"),
        ),
        migrations.AddIndex(
            model_name="score",
            index=models.Index(fields=["project", "name", "-timestamp"], name="traces_score_name"),
        ),
        migrations.AddConstraint(
            model_name="score",
            constraint=models.UniqueConstraint(fields=("project", "key"), name="traces_score_key"),
        ),
        migrations.AddConstraint(
            model_name="score",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        models.Q(("trace_id", ""), _negated=True),
                        ("run_id", ""),
                        ("session_id", ""),
                    ),
                    models.Q(
                        models.Q(("session_id", ""), _negated=True),
                        ("observation_id", ""),
                        ("run_id", ""),
                        ("trace_id", ""),
                    ),
                    models.Q(
                        models.Q(("run_id", ""), _negated=True),
                        ("observation_id", ""),
                        ("session_id", ""),
                        ("trace_id", ""),
                    ),
                    _connector="OR",
                ),
                name="traces_score_target",
            ),
        ),
        migrations.AddConstraint(
            model_name="score",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("number__isnull", False), ("type__in", ["NUMERIC", "BOOLEAN"])),
                    models.Q(
                        ("type__in", ["CATEGORICAL", "TEXT"]), models.Q(("text", ""), _negated=True)
                    ),
                    ("type", "CORRECTION"),
                    _connector="OR",
                ),
                name="traces_score_value",
            ),
        ),
        migrations.AddConstraint(
            model_name="score",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("source__in", ["API", "EVAL", "ANNOTATION"]),
                    ("type__in", ["NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION"]),
                ),
                name="traces_score_kinds",
            ),
        ),
        # Media are compressed already; unpacked they can be read in parts.
        migrations.RunSQL(
            "ALTER TABLE traces_mediachunk ALTER COLUMN data SET STORAGE EXTERNAL",
            migrations.RunSQL.noop,
        ),
    ]
