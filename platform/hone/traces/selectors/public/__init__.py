"""Traces and observations as programs read them through the public API."""

from hone.traces.selectors.public.metrics import metrics_rows
from hone.traces.selectors.public.observations import (
    ObservationQuery,
    PublicObservation,
    observation_find,
    observations_count,
    observations_of_trace,
    observations_page,
)
from hone.traces.selectors.public.sessions import PublicSession, session_find, sessions_page
from hone.traces.selectors.public.traces import (
    PublicTrace,
    TraceQuery,
    trace_find,
    trace_ids_of,
    traces_count,
    traces_page,
)

__all__ = [
    "ObservationQuery",
    "PublicObservation",
    "PublicSession",
    "PublicTrace",
    "TraceQuery",
    "metrics_rows",
    "observation_find",
    "observations_count",
    "observations_of_trace",
    "observations_page",
    "session_find",
    "sessions_page",
    "trace_find",
    "trace_ids_of",
    "traces_count",
    "traces_page",
]
