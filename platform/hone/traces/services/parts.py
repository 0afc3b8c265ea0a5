"""What hangs on a trace goes with it: scores, comments, references to files."""

from collections.abc import Sequence
from typing import Any, Final

import psycopg

from hone.traces.models import Comment, Score
from hone.traces.services.echoes import echoes_forget
from hone.traces.services.legacy_entities import entities_forget
from hone.traces.services.media import media_release, media_unused_delete


def trace_parts_delete(*, project_id: int, trace_ids: Sequence[str]) -> None:
    """Delete what was said of traces (hex) and of their observations; call it in a transaction."""
    ids = list(trace_ids)
    Score.objects.filter(project_id=project_id, trace_id__in=ids).delete()
    Comment.objects.filter(
        project_id=project_id, object_type=Comment.Kind.TRACE, object_id__in=ids
    ).delete()
    Comment.objects.filter(project_id=project_id, trace_id__in=ids).delete()
    media_release(project_id=project_id, trace_ids=ids)
    entities_forget(project_id, ids)
    echoes_forget(project_id, ids)


# The same for the many traces of the temporary table `traces_erased` (trace_id, hex).
_ERASED: Final = (
    "ANALYZE traces_erased",
    "DELETE FROM traces_score s USING traces_erased e"
    " WHERE s.project_id = %(project)s AND s.trace_id = e.hex",
    "DELETE FROM traces_comment c USING traces_erased e"
    " WHERE c.project_id = %(project)s AND c.object_type = 'TRACE' AND c.object_id = e.hex",
    "DELETE FROM traces_comment c USING traces_erased e"
    " WHERE c.project_id = %(project)s AND c.trace_id = e.hex",
    "DELETE FROM traces_legacy l USING traces_erased e"
    " WHERE l.project_id = %(project)s AND l.trace_id = e.trace_id",
    "DELETE FROM traces_echo o USING traces_erased e"
    " WHERE o.project_id = %(project)s AND o.trace_id = e.trace_id",
)
_USES: Final = """
    DELETE FROM traces_mediause u USING traces_erased e, traces_media m
    WHERE m.project_id = %(project)s AND u.media_id = m.id AND u.trace_id = e.hex
    RETURNING u.media_id
"""


def erased_parts_delete(cursor: psycopg.Cursor[Any], project_id: int) -> None:
    """As `trace_parts_delete`, of the traces in `traces_erased`."""
    for statement in _ERASED:
        cursor.execute(statement, {"project": project_id})
    cursor.execute(_USES, {"project": project_id})
    media_unused_delete({media_id for (media_id,) in cursor.fetchall()})
