"""Building blocks of the REST schema: strict bodies, pages, and the one shape of errors."""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.request import Request

ERROR_REF = "#/components/schemas/Error"
ERROR_SCHEMA = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "field"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "field": {"type": "string", "nullable": True},
            },
        }
    },
}


class Body(serializers.Serializer[Any]):
    """A request or response body; in a request an unknown field is an error, not ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and (unknown := sorted(data.keys() - self.fields.keys())):
            raise serializers.ValidationError({unknown[0]: ["This field is not known here."]})
        return super().to_internal_value(data)


def read(body: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """The validated fields of the request's body; raises ValidationError."""
    serializer = body(data=request.data)
    serializer.is_valid(raise_exception=True)
    fields: dict[str, Any] = serializer.validated_data
    return fields


def page_of(row: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """The schema of a list answer of `row`s."""
    return inline_serializer(
        name=f"{row.__name__.removesuffix('Serializer')}Page",
        fields={
            "data": row(many=True),
            "next_cursor": serializers.CharField(allow_null=True),
        },
    )


class Schema(AutoSchema):
    """Names the GET of a page `…_list`, as drf-spectacular does for its own kind of list."""

    def get_operation_id(self) -> str:
        name: str = super().get_operation_id()
        answer = self.get_response_serializers()
        kind = answer if isinstance(answer, type) else type(answer)
        is_page = kind.__name__.endswith("Page")
        return name.removesuffix("_retrieve") + "_list" if is_page else name


def add_errors(result: dict[str, Any], generator: Any, request: Any, public: Any) -> dict[str, Any]:
    """Hook of drf-spectacular: every operation may answer with an error."""
    result.setdefault("components", {}).setdefault("schemas", {})["Error"] = ERROR_SCHEMA
    answer = {
        "description": "An error; `code` says which",
        "content": {"application/json": {"schema": {"$ref": ERROR_REF}}},
    }
    for operations in result.get("paths", {}).values():
        for operation in operations.values():
            if isinstance(operation, dict) and "responses" in operation:
                operation["responses"].setdefault("default", answer)
    return result
