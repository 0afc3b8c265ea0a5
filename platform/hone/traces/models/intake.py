from django.db import models

from hone.accounts.models import Project, User
from hone.common.fields import JsonTextField


class ModelPrice(models.Model):
    """What a project pays for the models whose names a pattern finds; before the built-in prices.

    `prices` holds USD a token by usage part as decimal text; `tiers` other prices under conditions.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="model_prices")
    key = models.CharField(max_length=40)
    name = models.CharField(max_length=200)
    pattern = models.CharField(max_length=1000)
    prices = JsonTextField()
    tiers = JsonTextField()
    starts_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    author_name = models.CharField(max_length=254)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="traces_price_key"),
        ]

    def __str__(self) -> str:
        return self.name


class MaskRule(models.Model):
    """What is taken out of a project's spans before they are stored. Changes keep their author."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="mask_rules")
    key = models.CharField(max_length=40)
    name = models.CharField(max_length=200)
    pattern = models.CharField(max_length=1000)
    replacement = models.CharField(max_length=200)
    position = models.IntegerField()
    is_enabled = models.BooleanField(default=True)
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=254)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="traces_mask_key"),
        ]

    def __str__(self) -> str:
        return self.name
