"""Shapes of requests and answers, for the OpenAPI document (services check what comes in)."""

from typing import Any

from rest_framework import serializers


class ConnectionWrite(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=80)
    base_url = serializers.URLField()
    api_key = serializers.CharField(required=False, allow_blank=True, write_only=True)
    models = serializers.ListField(child=serializers.CharField())


class Connection(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(["local", "remote"])
    base_url = serializers.CharField()
    models = serializers.ListField(child=serializers.CharField())
    has_api_key = serializers.BooleanField()
    api_key_hint = serializers.CharField(allow_null=True)
    status = serializers.ChoiceField(["ready", "starting", "down"])
    read_only = serializers.BooleanField()  # type: ignore[assignment]
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class ConnectionTested(serializers.Serializer[Any]):
    ok = serializers.BooleanField()
    models = serializers.ListField(child=serializers.CharField())
    error = serializers.CharField(allow_null=True)


class Model(serializers.Serializer[Any]):
    id = serializers.CharField()
    connection = serializers.CharField()
    kind = serializers.ChoiceField(["local", "remote"])
    context_length = serializers.IntegerField(allow_null=True)
    status = serializers.ChoiceField(["ready", "starting", "down"])


class Engine(serializers.Serializer[Any]):
    state = serializers.ChoiceField(["ready", "starting", "down"])
    model = serializers.CharField(allow_null=True)
    device = serializers.CharField(allow_null=True)
    context_length = serializers.IntegerField(allow_null=True)
    running = serializers.IntegerField(allow_null=True)
    waiting = serializers.IntegerField(allow_null=True)
    kv_tokens_used = serializers.IntegerField(allow_null=True)
    kv_tokens_total = serializers.IntegerField(allow_null=True)
    tokens_per_second = serializers.FloatField(allow_null=True)
    memory_bytes = serializers.IntegerField(allow_null=True)


class RunPrompt(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.IntegerField()


class RunPromptWrite(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.IntegerField(required=False)
    label = serializers.CharField(required=False, write_only=True)  # type: ignore[assignment]


class RunWrite(serializers.Serializer[Any]):
    name = serializers.CharField(required=False, max_length=200)
    prompt = RunPromptWrite()
    model = serializers.CharField(required=False)
    parameters = serializers.DictField(required=False)
    inputs = serializers.ListField(child=serializers.DictField(child=serializers.CharField()))


class Run(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(["queued", "running", "done", "failed", "canceled"])
    prompt = RunPrompt()
    model = serializers.CharField()
    parameters = serializers.DictField()
    author = serializers.CharField()
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    rate = serializers.FloatField(allow_null=True)
    eta_s = serializers.FloatField(allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class RunItem(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    state = serializers.ChoiceField(["queued", "running", "done", "failed", "canceled"])
    variables = serializers.DictField(child=serializers.CharField())
    output = serializers.CharField(allow_null=True)
    error = serializers.CharField(allow_null=True)
    trace_id = serializers.CharField(allow_null=True)
    attempt = serializers.IntegerField()


class _Page(serializers.Serializer[Any]):
    next_cursor = serializers.CharField(allow_null=True)


class ConnectionPage(_Page):
    data = Connection(many=True)  # type: ignore[assignment]


class ModelPage(_Page):
    data = Model(many=True)  # type: ignore[assignment]


class RunPage(_Page):
    data = Run(many=True)  # type: ignore[assignment]


class ItemPage(_Page):
    data = RunItem(many=True)  # type: ignore[assignment]
