"""Ids as their senders wrote them, for a page of rows."""

from collections.abc import Iterable, Sequence

from hone.traces.selectors.external_ids import external_ids
from hone.traces.selectors.public import PublicObservation

Names = dict[str, str]  # our id (hex) -> the sender's


def names_of(
    project_id: int, observations: Sequence[PublicObservation], traces: Iterable[str] = ()
) -> Names:
    """The senders' ids of observations, their parents and traces, where they differ from ours."""
    keys = {key for o in observations for key in (o.id, o.trace_id, o.parent_id) if key}
    return external_ids(project_id, keys | set(traces))
