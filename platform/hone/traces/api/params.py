"""What a query string asks of traces."""

import re
from collections.abc import Mapping, Set
from datetime import UTC, datetime, timedelta
from typing import Final

from drf_spectacular.utils import OpenApiParameter

from hone.common import clock
from hone.common.conditions import conditions_of
from hone.common.errors import InvalidError, NotFoundError
from hone.traces.selectors import TraceFilter
from hone.traces.selectors.groups import GroupFilter
from hone.traces.selectors.observations import ObservationFilter

WINDOW: Final = timedelta(days=30)  # looked at where no `from` is given
AHEAD: Final = timedelta(days=1)  # clocks of senders may be ahead
MAX_BUCKETS: Final = 500
_TEXTS: Final = {
    "q": "Text in a name, an input or an output, in any case of letters",
    "model": "A model used",
    "status": "ok or error",
    "name": "The trace's name",
    "session": "Session id",
    "user": "User id",
    "tag": "A tag it carries",
    "environment": "Environment; `default` where none was given",
}
FILTERS: Final = frozenset({"from", "to", "filter", *_TEXTS})
PLAIN_FILTERS: Final = frozenset({"from", "to", "q", "filter"})  # of observations
GROUP_FILTERS: Final = frozenset({"from", "to", "q"})  # of sessions and users
PAGE: Final = frozenset({"limit", "cursor"})
MAX_TEXT_LEN: Final = 1000
_TRACE_ID: Final = re.compile("[0-9a-f]{32}")

FILTER_PARAMETERS: Final = [
    OpenApiParameter("from", datetime, description="Started at or after; default 30 days ago"),
    OpenApiParameter("to", datetime, description="Started before; default a day ahead"),
    OpenApiParameter(
        "filter",
        str,
        description='JSON array of {"type", "column", "operator", "value", "key"}; all must hold',
    ),
    *(OpenApiParameter(name, str, description=text) for name, text in _TEXTS.items()),
]
PLAIN_PARAMETERS: Final = [p for p in FILTER_PARAMETERS if p.name in PLAIN_FILTERS]
GROUP_PARAMETERS: Final = [p for p in FILTER_PARAMETERS if p.name in GROUP_FILTERS]
PAGE_PARAMETERS: Final = [
    OpenApiParameter("limit", int, description="1 to 200, default 50"),
    OpenApiParameter("cursor", str, description="`next_cursor` of the page before"),
]


def filter_of(project_id: int, params: Mapping[str, str], known: Set[str]) -> TraceFilter:
    """The filter that a query string spells; raises InvalidError for what it cannot mean."""
    start, end = window_of(params, known)
    given = {name: _text(params, name) for name in _TEXTS}
    if given["status"] not in (None, "ok", "error"):
        raise InvalidError(f"status: got {given['status']!r}, want ok or error", field="status")
    return TraceFilter(
        project_id=project_id,
        start=start,
        end=end,
        text=given.pop("q"),
        conditions=conditions_of(params.get("filter")),
        **given,
    )


def observation_filter_of(
    project_id: int, params: Mapping[str, str], known: Set[str]
) -> ObservationFilter:
    """As `filter_of`, for observations."""
    start, end = window_of(params, known)
    return ObservationFilter(
        project_id=project_id,
        start=start,
        end=end,
        text=_text(params, "q"),
        conditions=conditions_of(params.get("filter")),
    )


def group_filter_of(
    kind: str, project_id: int, params: Mapping[str, str], known: Set[str]
) -> GroupFilter:
    """As `filter_of`, for sessions or users."""
    start, end = window_of(params, known)
    return GroupFilter(
        kind=kind, project_id=project_id, start=start, end=end, text=_text(params, "q")
    )


def window_of(params: Mapping[str, str], known: Set[str]) -> tuple[datetime, datetime]:
    """The time asked for; raises InvalidError also for a parameter that is not `known`."""
    if unknown := sorted(params.keys() - known):
        raise InvalidError(f"{unknown[0]}: this parameter is not known here", field=unknown[0])
    end = instant(params, "to") or clock.now() + AHEAD
    start = instant(params, "from") or end - AHEAD - WINDOW
    if start >= end:
        raise InvalidError("from: must be earlier than to", field="from")
    return start, end


def instant(params: Mapping[str, str], name: str) -> datetime | None:
    """A moment in ISO 8601; without a time zone it is read as UTC."""
    text = params.get(name)
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.replace(" ", "+"))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidError(
            f"{name}: got {text[:40]!r}, want a time such as 2026-11-30T12:00:00Z", field=name
        ) from None


def buckets_of(params: Mapping[str, str]) -> int:
    text = params.get("buckets") or "60"
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MAX_BUCKETS:
        raise InvalidError(f"buckets: got {text[:40]!r}, want 1 to {MAX_BUCKETS}", field="buckets")
    return int(text)


def trace_id_of(text: str) -> str:
    """A trace id; what is none names nothing that exists."""
    if not _TRACE_ID.fullmatch(text):
        raise NotFoundError("There is no such trace")
    return text


def _text(params: Mapping[str, str], name: str) -> str | None:
    text = params.get(name) or None
    if text and len(text) > MAX_TEXT_LEN:
        raise InvalidError(f"{name}: at most {MAX_TEXT_LEN} characters", field=name)
    if text and "\x00" in text:
        raise InvalidError(f"{name}: holds a NUL character", field=name)
    return text
