"""The mapping as a table for people: docs/sending-traces.md holds it, a test compares."""

from collections.abc import Sequence

from hone.traces.core.dialects import keys
from hone.traces.core.dialects.mapping import COMPLETION_START, ERROR_TYPE, LEVEL, STATUS_MESSAGE
from hone.traces.core.dialects.usage import (
    COST_DETAILS,
    MLFLOW_COST,
    MLFLOW_USAGE,
    USAGE_DETAILS,
)


def table() -> str:
    """Markdown: a row a field, with the attributes that say it, the first that does wins."""
    lines = ["| field | attributes, the first that says something wins |", "|---|---|"]
    for field, names in _rows():
        lines.append(f"| {field} | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join(lines)


def _rows() -> list[tuple[str, Sequence[str]]]:
    indexed = {prefix: f"{prefix}N.*" for prefix in keys.INDEXED}
    given = [indexed[prefix] for prefix in keys.INPUT_GROUPS]
    answer = [indexed[prefix] for prefix in keys.OUTPUT_GROUPS]
    first_token = (COMPLETION_START, *keys.FIRST_TOKEN_SECONDS, *keys.FIRST_TOKEN_MS)
    return [
        ("model", keys.MODEL),
        ("session", keys.SESSION),
        ("user", keys.USER),
        ("tags", keys.TAGS),
        ("name", (*keys.NAME, f"{keys.FUNCTION}:{keys.FUNCTION_CALL}", "the span's name")),
        ("trace name", keys.TRACE_NAME),
        ("environment (span, then resource)", keys.ENVIRONMENT),
        ("prompt name", (*keys.PROMPT_NAME, keys.PROMPT_LINK)),
        ("prompt version", (*keys.PROMPT_VERSION, keys.PROMPT_LINK)),
        ("model parameters", (*keys.PARAMETERS, f"{keys.PARAMETER_PREFIX}*")),
        (
            "input",
            (*keys.INPUT_FIRST, *given, *keys.INPUT, "span events gen_ai.*.message", "events"),
        ),
        (
            "output",
            (*keys.OUTPUT_FIRST, *answer, *keys.OUTPUT, "span events gen_ai.choice", "events"),
        ),
        ("metadata", (*keys.METADATA, *(f"{prefix}*" for prefix in keys.METADATA_GROUPS))),
        ("first token", (*first_token, *(f"event {e}" for e in sorted(keys.FIRST_TOKEN_EVENTS)))),
        ("type", (*keys.TYPES, "tool, agent or generation by its attributes, else span")),
        ("level", (LEVEL, keys.LEVEL_NUMBER, "ERROR where the status is")),
        ("status message", (STATUS_MESSAGE, "the status", "event exception", ERROR_TYPE)),
        ("usage", (USAGE_DETAILS, MLFLOW_USAGE, "or its parts:")),
        *((f"usage: {part}", names) for part, names in keys.TOKENS.items()),
        ("cost", (COST_DETAILS, MLFLOW_COST, "or its parts:")),
        *((f"cost: {part}", names) for part, names in keys.COSTS.items()),
    ]


if __name__ == "__main__":
    print(table())  # noqa: T201
