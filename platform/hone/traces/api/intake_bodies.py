"""Bodies of prices and masks."""

from typing import Any

from rest_framework import serializers

from hone.common.schema import Body
from hone.traces.core.masks import MAX_PATTERN_LEN, MAX_REPLACEMENT_LEN
from hone.traces.core.prices.rates import OPERATORS

MAX_PARTS = 50


class PriceCondition(Body):
    usage_pattern = serializers.CharField(max_length=200)
    operator = serializers.ChoiceField(choices=list(OPERATORS))
    value = serializers.IntegerField(min_value=0, max_value=2**40)


class PriceTier(Body):
    name = serializers.CharField(max_length=200, required=False, allow_blank=True)
    conditions = serializers.ListField(child=PriceCondition(), min_length=1, max_length=10)
    prices = serializers.DictField(child=serializers.CharField(max_length=40))


class PriceCreate(Body):
    name = serializers.CharField(max_length=200)
    pattern = serializers.CharField(max_length=MAX_PATTERN_LEN, trim_whitespace=False)
    prices = serializers.DictField(child=serializers.CharField(max_length=40))
    tiers = serializers.ListField(child=PriceTier(), required=False, max_length=20)
    starts_at = serializers.DateTimeField(required=False, allow_null=True)


class PriceBody(PriceCreate):
    id = serializers.CharField()
    author = serializers.CharField()
    created_at = serializers.DateTimeField()


class PriceAsked(serializers.Serializer[Any]):
    model = serializers.CharField(max_length=200)


class ListPrice(Body):
    starts_at = serializers.DateTimeField(allow_null=True)
    prices = serializers.DictField(child=serializers.CharField())
    tiers = serializers.ListField(child=PriceTier())


class PriceFound(Body):
    model = serializers.CharField()
    own = serializers.ListField(
        child=serializers.CharField(), help_text="Ids of the project's prices, the newest first"
    )
    builtin = serializers.ListField(
        child=ListPrice(), allow_null=True, help_text="List prices, the newest first"
    )


class MaskTest(Body):
    pattern = serializers.CharField(max_length=MAX_PATTERN_LEN, trim_whitespace=False)
    replacement = serializers.CharField(
        max_length=MAX_REPLACEMENT_LEN, allow_blank=True, trim_whitespace=False
    )
    text = serializers.CharField(max_length=20_000, allow_blank=True, trim_whitespace=False)


class MaskTested(Body):
    text = serializers.CharField()
    count = serializers.IntegerField(help_text="How often the pattern finds something")


class MaskCreate(Body):
    name = serializers.CharField(max_length=200)
    pattern = serializers.CharField(max_length=MAX_PATTERN_LEN, trim_whitespace=False)
    replacement = serializers.CharField(
        max_length=MAX_REPLACEMENT_LEN, required=False, allow_blank=True, trim_whitespace=False
    )
    is_enabled = serializers.BooleanField(required=False)


class MaskUpdate(Body):
    name = serializers.CharField(max_length=200, required=False)
    pattern = serializers.CharField(
        max_length=MAX_PATTERN_LEN, required=False, trim_whitespace=False
    )
    replacement = serializers.CharField(
        max_length=MAX_REPLACEMENT_LEN, required=False, allow_blank=True, trim_whitespace=False
    )
    is_enabled = serializers.BooleanField(required=False)


class MaskBody(Body):
    id = serializers.CharField()
    name = serializers.CharField()
    pattern = serializers.CharField()
    replacement = serializers.CharField()
    is_enabled = serializers.BooleanField()
    author = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
