import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import hone.common.fields


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("traces", "0004_search"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="MaskRule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=40)),
                ("name", models.CharField(max_length=200)),
                ("pattern", models.CharField(max_length=1000)),
                ("replacement", models.CharField(max_length=200)),
                ("position", models.IntegerField()),
                ("is_enabled", models.BooleanField(default=True)),
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
                        related_name="mask_rules",
                        to="accounts.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "key"), name="traces_mask_key")
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelPrice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=40)),
                ("name", models.CharField(max_length=200)),
                ("pattern", models.CharField(max_length=1000)),
                ("prices", hone.common.fields.JsonTextField()),
                ("tiers", hone.common.fields.JsonTextField()),
                ("starts_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                ("author_name", models.CharField(max_length=254)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="model_prices",
                        to="accounts.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "key"), name="traces_price_key")
                ],
            },
        ),
    ]
