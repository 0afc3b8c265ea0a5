import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("traces", "0012_figures"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="erasure", name="before", field=models.DateTimeField(null=True)
        ),
        migrations.AddField(
            model_name="erasure", name="started_at", field=models.DateTimeField(null=True)
        ),
        migrations.AddField(
            model_name="erasure", name="trace_total", field=models.BigIntegerField(null=True)
        ),
        migrations.AddField(
            model_name="erasure", name="until_seq", field=models.BigIntegerField(null=True)
        ),
        migrations.AlterField(
            model_name="erasure",
            name="what",
            field=models.CharField(
                choices=[
                    ("user", "User"),
                    ("traces", "Traces"),
                    ("project", "Project"),
                    ("retention", "Retention"),
                ],
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="erasure",
            constraint=models.UniqueConstraint(
                condition=models.Q(("what", "retention")),
                fields=("project",),
                name="traces_erasure_retention",
            ),
        ),
        migrations.CreateModel(
            name="Retention",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("days", models.PositiveIntegerField()),
                ("author_name", models.CharField(max_length=254)),
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
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="retention",
                        to="accounts.project",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="retention",
            constraint=models.CheckConstraint(
                condition=models.Q(("days__gte", 1)), name="traces_retention_days"
            ),
        ),
    ]
