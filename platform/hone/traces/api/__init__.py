"""REST endpoints of traces."""

from hone.traces.api.views import TraceDetail, TraceFacets, TraceHistogram, TraceObservation, Traces

__all__ = ["TraceDetail", "TraceFacets", "TraceHistogram", "TraceObservation", "Traces"]
