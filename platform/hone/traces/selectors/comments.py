"""Remarks about traces, observations, sessions and prompts."""

from collections.abc import Collection

from django.db.models import Q, QuerySet

from hone.common.errors import NotFoundError
from hone.traces.models import Comment
from hone.traces.selectors.query import fetch


def comments(
    project_id: int,
    *,
    object_type: str | None = None,
    object_ids: Collection[str] = (),
    author: str | None = None,
) -> QuerySet[Comment, Comment]:
    """The project's comments, of a kind, about certain things, by one author's id."""
    condition = Q(project_id=project_id)
    if object_type:
        condition &= Q(object_type=object_type)
    if object_ids:
        condition &= Q(object_id__in=list(object_ids))
    if author:
        condition &= Q(author_id=int(author)) if author.isdecimal() else Q(pk=None)
    return Comment.objects.filter(condition).select_related("author")


def comments_of_trace(project_id: int, trace_id: str) -> QuerySet[Comment, Comment]:
    """Comments about a trace (hex) and about its observations.

    One that was made without naming the trace is found by the ids of the trace's observations.
    """
    loose = fetch(
        "SELECT c.object_id FROM traces_comment c JOIN traces_trace t ON t.project_id = %s"
        " AND t.trace_id = decode(%s, 'hex') JOIN traces_observation o"
        " ON o.project_id = t.project_id AND o.trace_id = t.trace_id"
        " AND o.start_time BETWEEN t.started_at AND t.latest_start_at"
        " AND o.span_id = decode(c.object_id, 'hex')"
        " WHERE c.project_id = %s AND c.object_type = 'OBSERVATION' AND c.trace_id = ''",
        [project_id, trace_id, project_id],
    )
    about = Q(object_type="TRACE", object_id=trace_id) | Q(trace_id=trace_id)
    if loose:
        about |= Q(object_type="OBSERVATION", object_id__in=[row[0] for row in loose], trace_id="")
    return Comment.objects.filter(about, project_id=project_id).select_related("author")


def comment_get(project_id: int, key: str) -> Comment:
    """One comment; raises NotFoundError."""
    found = comments(project_id).filter(key=key).first()
    if found is None:
        raise NotFoundError(f"There is no comment {key!r}")
    return found
