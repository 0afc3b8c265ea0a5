"""A trace as lists show it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

COLUMNS: Final = """
    t.trace_id, t.name, t.started_at, t.ended_at, t.first_token_at, t.input_preview,
    t.output_preview, t.models, t.observation_count, t.error_count, t.input_tokens,
    t.output_tokens, t.total_tokens, t.decode_tokens, t.decode_us, t.cost, t.unpriced_count,
    t.user_id, t.session_id, t.tags, t.environment, t.prompts, t.release, t.version
"""
DEFAULT_ENVIRONMENT: Final = "default"


@dataclass(frozen=True, slots=True)
class PromptUse:
    """A prompt that a trace used; the version as number where it is one."""

    name: str
    version: int | str | None


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One trace, without payloads."""

    id: str
    name: str
    started_at: datetime
    duration_ms: float
    status: str  # ok | error
    input_preview: str | None
    output_preview: str | None
    models: list[str]
    observation_count: int
    error_count: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cost: str | None  # USD of the priced observations; None where none is priced
    unpriced_count: int  # observations with tokens and no known price
    ttft_ms: float | None
    tokens_per_second: float | None
    user_id: str | None
    session_id: str | None
    tags: list[str]
    environment: str
    prompts: list[PromptUse]
    release: str | None
    version: str | None


def trace_row_from(row: Sequence[Any]) -> TraceRow:
    """A row of COLUMNS."""
    trace_id, name, started_at, ended_at, first_token_at, given, answer, models, *rest = row
    count, error_count, input_tokens, output_tokens, total_tokens, *rest = rest
    decode_tokens, decode_us, cost, unpriced, user_id, session_id, tags, *rest = rest
    environment, prompts, release, version = rest
    return TraceRow(
        id=bytes(trace_id).hex(),
        name=name,
        started_at=started_at,
        duration_ms=milliseconds(started_at, ended_at) or 0.0,
        status="error" if error_count else "ok",
        input_preview=given,
        output_preview=answer,
        models=models,
        observation_count=count,
        error_count=error_count,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=total_tokens,
        cost=money_text(cost),
        unpriced_count=unpriced,
        ttft_ms=milliseconds(started_at, first_token_at),
        tokens_per_second=rate(decode_tokens, decode_us),
        user_id=user_id,
        session_id=session_id,
        tags=tags,
        environment=environment or DEFAULT_ENVIRONMENT,
        prompts=[_prompt(text) for text in prompts],
        release=release,
        version=version,
    )


def milliseconds(start: datetime, end: datetime | None) -> float | None:
    """The time from start to end, to the microsecond."""
    return None if end is None else round((end - start).total_seconds() * 1000, 3)


def rate(tokens: int | None, us: int) -> float | None:
    """Tokens per second; None where nothing can be said."""
    return round(tokens * 1e6 / us, 2) if tokens and us > 0 else None


def money_text(amount: Decimal | None) -> str | None:
    """An amount without exponent and without idle zeros."""
    if amount is None:
        return None
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def prompt_version(text: str | None) -> int | str | None:
    return int(text) if text and text.isdecimal() and len(text) < 10 else text or None


def _prompt(text: str) -> PromptUse:
    name, _, version = text.rpartition("@")
    return PromptUse(name, prompt_version(version))
