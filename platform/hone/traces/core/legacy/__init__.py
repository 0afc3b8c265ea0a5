"""Batches of events, as Langfuse's older SDKs send them, folded into spans.

An entity (a trace or an observation) arrives in pieces, in any order and sometimes twice. What is
known of it is kept field by field with the time of the event that said it (`fold`), so that the
same events give the same span whatever order they come in (`spans`).
"""

from hone.traces.core.legacy.events import OBSERVATION, SCORE, TRACE, Event, event_of
from hone.traces.core.legacy.fold import State, ended, folded, is_known, value_of
from hone.traces.core.legacy.spans import observation_span, trace_span

__all__ = [
    "OBSERVATION",
    "SCORE",
    "TRACE",
    "Event",
    "State",
    "ended",
    "event_of",
    "folded",
    "is_known",
    "observation_span",
    "trace_span",
    "value_of",
]
