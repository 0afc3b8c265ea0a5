"""Input, output and metadata of a span."""

from typing import Final

from hone.traces.core.dialects import keys
from hone.traces.core.dialects.conversation import (
    events_listed,
    from_events,
    grown,
    with_instructions,
)
from hone.traces.core.dialects.plan import Plan, Source
from hone.traces.core.dialects.values import Attributes, decoded, json_mapping
from hone.traces.core.otlp.raw import RawSpan
from hone.traces.core.text import json_text, payload_text

INSTRUCTIONS: Final = "gen_ai.system_instructions"
SDK_LANGUAGE: Final = "telemetry.sdk.language"


def payloads_of(raw: RawSpan, plan: Plan) -> tuple[str | None, str | None]:
    """Input and output as text."""
    given = _payload(raw.attributes, plan.input)
    answer = _payload(raw.attributes, plan.output)
    if raw.events and (given is None or answer is None):
        asked, answered = from_events(raw.events)
        given, answer = given or asked, answer or answered
    if given is None and keys.LISTED_EVENTS in raw.attributes:
        asked, answered = from_events(events_listed(raw.attributes[keys.LISTED_EVENTS]))
        given, answer = asked, answer or answered
    if given is not None and INSTRUCTIONS in raw.attributes:
        given = with_instructions(given, raw.attributes[INSTRUCTIONS])
    return given, answer


def _payload(attributes: Attributes, source: Source) -> str | None:
    if source.key is not None:
        return payload_text(attributes[source.key])
    return None if source.tree is None else json_text(grown(source.tree, attributes))


def copies_drop(kept: dict[str, object], attributes: Attributes, plan: Plan) -> None:
    """Take out what repeats one message of a conversation word for word: not kept twice."""
    for key, texts in plan.copies:
        value = attributes[key]
        if not isinstance(value, str):
            continue
        for text in texts:
            if attributes[text] == value:
                kept.pop(key, None)
                break


def metadata_of(raw: RawSpan, plan: Plan) -> dict[str, object]:
    """What the sender attached for itself, by key."""
    found: dict[str, object] = {}
    for key in plan.metadata:
        value = raw.attributes[key]
        mapping = json_mapping(value)
        found.update(mapping if mapping is not None else {"metadata": value})
    if plan.metadata_pairs:
        encoded = _encodes_metadata(raw)
        for key, rest in plan.metadata_pairs:
            value = raw.attributes[key]
            found[rest] = decoded(value) if encoded else value
    return found


def _encodes_metadata(raw: RawSpan) -> bool:
    """Langfuse's Python SDK from 5 on writes every metadata value as JSON; no other does."""
    if raw.scope.name != "langfuse-sdk":
        return False
    major = raw.scope.version.partition(".")[0]
    is_new = major.isdecimal() and int(major) >= 5
    return is_new and raw.resource.get(SDK_LANGUAGE) == "python"
