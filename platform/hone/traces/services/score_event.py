"""A score as the bodies of the public API spell it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from hone.common.errors import InvalidError
from hone.common.public.params import moment_read
from hone.traces.core.scores import ScoreWrite

_TEXTS: Final = {
    "id": "key",
    "dataType": "type",
    "traceId": "trace_id",
    "observationId": "observation_id",
    "sessionId": "session_id",
    "datasetRunId": "run_id",
    "source": "source",
    "comment": "comment",
    "environment": "environment",
    "configId": "config",
    "queueId": "queue_id",
}

RESERVED: Final = "EVAL"  # the source of Hone's own evaluators


def score_write_of(body: Mapping[str, Any], said_at: datetime | None = None) -> ScoreWrite:
    """The write that a body asks for; unknown fields are passed over. Raises InvalidError."""
    if not isinstance(body, dict):
        raise InvalidError("A score is an object")
    name = body.get("name")
    if not isinstance(name, str):
        raise InvalidError("name: want a text", field="name")
    if body.get("value") is None:
        raise InvalidError("value: want a number or a text", field="value")
    fields: dict[str, Any] = {}
    for given, field in _TEXTS.items():
        value = body.get(given)
        if value is not None and not isinstance(value, str):
            raise InvalidError(f"{given}: want a text", field=given)
        if value:
            fields[field] = value
    if fields.get("source") == RESERVED:
        raise InvalidError("source: EVAL is reserved, send API or ANNOTATION", field="source")
    moment = body.get("timestamp")
    if moment is not None:
        fields["timestamp"] = moment_read(str(moment), "timestamp")
    return ScoreWrite(
        name=name,
        value=body["value"],
        metadata=body.get("metadata"),
        said_at=said_at,
        **fields,
    )
