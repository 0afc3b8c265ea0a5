"""What is older than HONE_TRACES_RETENTION_DAYS goes: whole partitions, then their traces."""

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.db import connection, transaction

from hone.common import clock
from hone.traces.services.legacy_entities import entities_retain
from hone.traces.services.partitions import partitions_drop
from hone.traces.services.parts import trace_parts_delete
from hone.traces.services.rollups import rollups_retain
from hone.traces.services.search import search_retain

log = structlog.get_logger(__name__)
_PORTION: Final = 5000  # traces deleted in one transaction
_DELETE: Final = """
    DELETE FROM traces_trace WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM traces_trace WHERE latest_start_at < %s LIMIT %s
    )) RETURNING project_id, encode(trace_id, 'hex')
"""


def traces_retain() -> tuple[int, int]:
    """Drop partitions that are past their time and delete the traces that lay in them.

    The number of partitions and of traces. Without HONE_TRACES_RETENTION_DAYS nothing goes.
    """
    days: int = settings.HONE_TRACES_RETENTION_DAYS
    if not days:
        return 0, 0
    cutoff = clock.now() - timedelta(days=days)
    dropped = partitions_drop(cutoff)
    deleted = _delete_traces(cutoff)
    search_retain(cutoff)
    rollups_retain(cutoff)
    entities_retain(cutoff)
    if dropped or deleted:
        log.info("traces_retained", num_partitions=len(dropped), num_traces=deleted)
    return len(dropped), deleted


def _delete_traces(cutoff: datetime) -> int:
    """Traces whose every observation started before `cutoff`; some observations may outlive them
    until their partition is past its time, reachable by nobody."""
    deleted = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_DELETE, [cutoff, _PORTION])
            gone: dict[int, list[str]] = {}
            for project_id, trace_id in cursor.fetchall():
                gone.setdefault(project_id, []).append(trace_id)
            for project_id, ids in gone.items():
                trace_parts_delete(project_id=project_id, trace_ids=ids)
            number: int = cursor.rowcount
        deleted += number
        if number < _PORTION:
            return deleted
