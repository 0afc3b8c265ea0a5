"""Bodies of what versions did."""

from typing import Any

from rest_framework import serializers

from hone.common.schema import Body
from hone.prompts.core.measures import ScoreFigure, VersionFigures
from hone.prompts.core.statistics import Mean


class MeanBody(Body):
    n = serializers.IntegerField()
    mean = serializers.FloatField()
    low = serializers.FloatField(allow_null=True, help_text="Of the 95 % interval of the mean")
    high = serializers.FloatField(allow_null=True)


class ScoreMeanOfVersion(MeanBody):
    name = serializers.CharField()
    type = serializers.CharField()


class FiguresBody(Body):
    version = serializers.IntegerField()
    calls = serializers.IntegerField(help_text="At most 20,000, the newest; then is_cut")
    is_cut = serializers.BooleanField()
    failures = serializers.IntegerField()
    failure_low = serializers.FloatField(allow_null=True)
    failure_high = serializers.FloatField(allow_null=True)
    first_at = serializers.DateTimeField(allow_null=True)
    latest_at = serializers.DateTimeField(allow_null=True)
    latency_s = MeanBody(allow_null=True, help_text="Of calls that did not fail")
    latency_p50_s = serializers.FloatField(allow_null=True)
    latency_p95_s = serializers.FloatField(allow_null=True)
    input_tokens = MeanBody(allow_null=True)
    output_tokens = MeanBody(allow_null=True)
    cost = MeanBody(allow_null=True, help_text="USD a call, of those with a known price")
    cost_total = serializers.FloatField(allow_null=True)
    unpriced = serializers.IntegerField(help_text="Calls with tokens and no known price")
    scores = ScoreMeanOfVersion(many=True)


class MeasuresBody(Body):
    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    versions = FiguresBody(many=True)


class TestBody(Body):
    name = serializers.CharField(help_text="welch, two proportions or fisher")
    p = serializers.FloatField()
    difference = serializers.FloatField(help_text="b minus a")
    low = serializers.FloatField()
    high = serializers.FloatField()


class ComparedBody(Body):
    measure = serializers.CharField()
    a = serializers.FloatField(allow_null=True)
    b = serializers.FloatField(allow_null=True)
    n_a = serializers.IntegerField()
    n_b = serializers.IntegerField()
    test = TestBody(allow_null=True)
    p_adjusted = serializers.FloatField(
        allow_null=True, help_text="For all tests of this answer together, by Holm's method"
    )


class ComparisonBody(Body):
    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    a = serializers.IntegerField()
    b = serializers.IntegerField()
    rows = ComparedBody(many=True)


class CallBody(Body):
    id = serializers.CharField()
    trace_id = serializers.CharField()
    started_at = serializers.DateTimeField()
    duration_ms = serializers.FloatField(allow_null=True)
    status = serializers.CharField()
    status_message = serializers.CharField(allow_null=True)
    model = serializers.CharField(allow_null=True)
    input_preview = serializers.CharField(allow_null=True)
    output_preview = serializers.CharField(allow_null=True)


class CallsBody(Body):
    calls = CallBody(many=True)


class TrendBody(Body):
    calls = serializers.ListField(child=serializers.IntegerField())
    score = serializers.CharField(allow_null=True)
    scores = serializers.ListField(child=serializers.FloatField(allow_null=True))
    num_scores = serializers.IntegerField()


class TrendsBody(Body):
    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    trends = serializers.DictField(child=TrendBody())


def figures_body(figures: VersionFigures) -> dict[str, Any]:
    failure = figures.failure_interval or (None, None)
    means = ("latency_s", "input_tokens", "output_tokens", "cost")
    plain = ("version", "calls", "is_cut", "failures", "first_at", "latest_at", "latency_p50_s")
    more = ("latency_p95_s", "cost_total", "unpriced")
    return {
        **{name: getattr(figures, name) for name in (*plain, *more)},
        "failure_low": failure[0],
        "failure_high": failure[1],
        **{name: _mean_body(getattr(figures, name)) for name in means},
        "scores": [_score_body(score) for score in figures.scores],
    }


def _mean_body(mean: Mean | None) -> dict[str, Any] | None:
    if mean is None:
        return None
    low, high = mean.interval or (None, None)
    return {"n": mean.n, "mean": mean.mean, "low": low, "high": high}


def _score_body(score: ScoreFigure) -> dict[str, Any]:
    low, high = score.interval or (None, None)
    return {
        "name": score.name,
        "type": score.type,
        "n": score.values.n,
        "mean": score.values.mean,
        "low": low,
        "high": high,
    }
