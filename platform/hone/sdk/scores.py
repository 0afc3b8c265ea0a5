"""Scores: what somebody or something thinks of a trace, queued like spans."""

import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Any, Final

from hone.sdk.client import client
from hone.sdk.observation import current
from hone.sdk.options import log
from hone.sdk.values import cut, value_text

MAX_COMMENT_LEN: Final = 10_000
MAX_METADATA_LEN: Final = 100_000
SCORE_BYTES: Final = 1000


def score(
    name: str,
    value: float | bool | str,
    *,
    trace_id: str | None = None,
    observation_id: str | None = None,
    session_id: str | None = None,
    data_type: str | None = None,
    comment: str | None = None,
    metadata: Mapping[str, object] | None = None,
    score_id: str | None = None,
) -> str | None:
    """Judge the current observation, or the trace, observation or session that is named.

    Returns the score's id, None where nothing is recorded. The same `score_id` again replaces
    the value. `data_type` is NUMERIC, BOOLEAN, CATEGORICAL or TEXT; the value tells it otherwise.
    """
    found = client()
    if found is None:
        return None
    if trace_id is None and session_id is None:
        observation = current()
        trace_id, observation_id = observation.trace_id, observation_id or observation.id
        if trace_id is None:
            log.warning("hone: score %r: name a trace or a session, none is current", name)
        if not observation.is_recording:
            return None  # also where the trace is not sampled: nobody would find what it judges
    try:
        body = _body(name, value, data_type, comment, metadata, score_id)
    except Exception:
        log.warning("hone: score %r cannot be written down", name, exc_info=True)
        return None
    about = {"traceId": trace_id, "observationId": observation_id, "sessionId": session_id}
    environment = found.options.environment
    body |= {key: text for key, text in about.items() if text is not None}
    body |= {"environment": environment} if environment else {}
    size = SCORE_BYTES + len(body.get("comment", "")) + len(str(body.get("metadata", "")))
    return str(body["id"]) if found.courier.put(body, size) else None


def _body(
    name: str,
    value: float | bool | str,
    data_type: str | None,
    comment: str | None,
    metadata: Mapping[str, object] | None,
    score_id: str | None,
) -> dict[str, Any]:
    if isinstance(value, bool):
        data_type = data_type or "BOOLEAN"
        value = float(value)
    body: dict[str, Any] = {
        "id": score_id or str(uuid.uuid4()),
        "name": cut(str(name), 500),
        "value": value if isinstance(value, str) else float(value),
        "timestamp": dt.datetime.now(dt.UTC).isoformat().replace("+00:00", "Z"),
    }
    if data_type is not None:
        body["dataType"] = data_type
    if comment is not None:
        body["comment"] = cut(str(comment), MAX_COMMENT_LEN)
    if metadata:
        body["metadata"] = {k: value_text(v, MAX_METADATA_LEN) for k, v in metadata.items()}
    return body
