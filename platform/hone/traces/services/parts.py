"""What hangs on a trace goes with it: scores, comments, references to files."""

from collections.abc import Sequence

from hone.traces.models import Comment, Score
from hone.traces.services.echoes import echoes_forget
from hone.traces.services.legacy_entities import entities_forget
from hone.traces.services.media import media_release


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
