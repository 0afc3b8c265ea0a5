"""Attribute names that the SDK writes, all known to Hone's door (docs/sending-traces.md)."""

from typing import Final

TYPE: Final = "langfuse.observation.type"
INPUT: Final = "langfuse.observation.input"
OUTPUT: Final = "langfuse.observation.output"
METADATA: Final = "langfuse.observation.metadata"
LEVEL: Final = "langfuse.observation.level"
STATUS_MESSAGE: Final = "langfuse.observation.status_message"
MODEL: Final = "langfuse.observation.model.name"
PARAMETERS: Final = "langfuse.observation.model.parameters"
USAGE: Final = "langfuse.observation.usage_details"
COST: Final = "langfuse.observation.cost_details"
FIRST_TOKEN: Final = "langfuse.observation.completion_start_time"
PROMPT_NAME: Final = "langfuse.observation.prompt.name"
PROMPT_VERSION: Final = "langfuse.observation.prompt.version"

SESSION: Final = "session.id"
USER: Final = "user.id"
TAGS: Final = "langfuse.trace.tags"
TRACE_NAME: Final = "langfuse.trace.name"
TRACE_METADATA: Final = "langfuse.trace.metadata"

ENVIRONMENT: Final = "deployment.environment.name"  # of the resource
RELEASE: Final = "langfuse.release"
DROPPED: Final = "hone.sdk.dropped_spans"

KINDS: Final = frozenset(
    {
        "span",
        "generation",
        "event",
        "tool",
        "retriever",
        "agent",
        "chain",
        "embedding",
        "evaluator",
        "guardrail",
    }
)
LEVELS: Final = frozenset({"DEBUG", "DEFAULT", "WARNING", "ERROR"})
