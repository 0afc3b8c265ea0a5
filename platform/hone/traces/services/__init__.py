"""Everything that writes traces."""

from hone.traces.services.deletion import trace_delete
from hone.traces.services.erasing import erasures_run
from hone.traces.services.ingest import INGESTED, Ingested, spans_ingest
from hone.traces.services.media import media_sweep
from hone.traces.services.partitions import partitions_drop, partitions_ensure
from hone.traces.services.retention import retentions_run, traces_retain
from hone.traces.services.writer import spans_write

__all__ = [
    "INGESTED",
    "Ingested",
    "erasures_run",
    "media_sweep",
    "partitions_drop",
    "partitions_ensure",
    "retentions_run",
    "spans_ingest",
    "spans_write",
    "trace_delete",
    "traces_retain",
]
