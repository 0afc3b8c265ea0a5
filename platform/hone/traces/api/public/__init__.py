"""Traces for programs: the public API, in the shapes of Langfuse."""

from hone.traces.api.public.metrics import PublicDailyMetrics, PublicMetrics
from hone.traces.api.public.models import PublicModels, PublicOneModel
from hone.traces.api.public.observations import (
    PublicObservations,
    PublicObservationsV2,
    PublicOneObservation,
)
from hone.traces.api.public.sessions import PublicOneSession, PublicSessions
from hone.traces.api.public.traces import PublicOneTrace, PublicTraces

__all__ = [
    "PublicDailyMetrics",
    "PublicMetrics",
    "PublicModels",
    "PublicObservations",
    "PublicObservationsV2",
    "PublicOneModel",
    "PublicOneObservation",
    "PublicOneSession",
    "PublicOneTrace",
    "PublicSessions",
    "PublicTraces",
]
