"""What a project's reads of traces answer: a query string in, a body out.

The views and the door in front of them (read_door) give the same. Each takes the project's id, the
query and what the path names; each raises HoneError.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from hone.common.errors import NotFoundError
from hone.common.paging import limit_of
from hone.traces.api.cursors import HEX, after_hex, after_text, cursor_of
from hone.traces.api.params import (
    FILTERS,
    GROUP_FILTERS,
    PAGE,
    PLAIN_FILTERS,
    buckets_of,
    filter_of,
    group_filter_of,
    observation_filter_of,
    trace_id_of,
)
from hone.traces.selectors import (
    observation_detail,
    trace_detail,
    traces_facets,
    traces_histogram,
    traces_list,
)
from hone.traces.selectors.groups import Group, groups_by_ids, groups_list, session_turns
from hone.traces.selectors.observation_facets import observations_facets
from hone.traces.selectors.observations import ID_LEN, observations_list

Params = Mapping[str, str]
LIGHT = 5000
OBSERVATIONS = 1000  # of a trace in one answer, unless fewer are asked for


def traces(project_id: int, params: Params) -> Any:
    wanted = filter_of(project_id, params, FILTERS | PAGE)
    rows, following = traces_list(wanted, limit=limit_of(params), after=after_hex(params, 32))
    return {"data": rows, "next_cursor": cursor_of(following)}


def trace_histogram(project_id: int, params: Params) -> Any:
    wanted = filter_of(project_id, params, FILTERS | {"buckets"})
    return {"buckets": traces_histogram(wanted, buckets=buckets_of(params))}


def trace_facets(project_id: int, params: Params) -> Any:
    return traces_facets(filter_of(project_id, params, FILTERS))


def trace(project_id: int, params: Params, trace_id: str) -> Any:
    light = params.get("light") in ("true", "1")
    found = trace_detail(
        project_id,
        trace_id_of(trace_id),
        limit=limit_of(params) if "limit" in params else LIGHT if light else OBSERVATIONS,
        after=after_hex(params, 16),
        light=light,
    )
    if found is None:
        raise NotFoundError("There is no such trace")
    own = {"input": found.input, "output": found.output, "metadata": found.metadata}
    return {
        "trace": asdict(found.row) | own,
        "observations": found.observations,
        "next_cursor": cursor_of(found.next),
    }


def observation(project_id: int, params: Params, trace_id: str, observation_id: str) -> Any:
    trace_id = trace_id_of(trace_id)
    is_hex = len(observation_id) == 16 and not set(observation_id) - HEX
    found = observation_detail(project_id, trace_id, observation_id) if is_hex else None
    if found is None:
        raise NotFoundError("There is no such observation")
    return found


def observations(project_id: int, params: Params) -> Any:
    wanted = observation_filter_of(project_id, params, PLAIN_FILTERS | PAGE)
    rows, following = observations_list(
        wanted, limit=limit_of(params), after=after_hex(params, ID_LEN)
    )
    return {"data": rows, "next_cursor": cursor_of(following)}


def observation_facets(project_id: int, params: Params) -> Any:
    return observations_facets(observation_filter_of(project_id, params, PLAIN_FILTERS))


def sessions(project_id: int, params: Params) -> Any:
    return _groups("session", project_id, params)


def users(project_id: int, params: Params) -> Any:
    return _groups("user", project_id, params)


def session(project_id: int, params: Params, session_id: str) -> Any:
    found = _group("session", project_id, params, session_id)
    turns, following = session_turns(
        project_id, session_id, limit=limit_of(params), after=after_hex(params, 32)
    )
    return {"session": found, "turns": turns, "next_cursor": cursor_of(following)}


def user(project_id: int, params: Params, user_id: str) -> Any:
    return _group("user", project_id, params, user_id)


def _groups(kind: str, project_id: int, params: Params) -> Any:
    wanted = group_filter_of(kind, project_id, params, GROUP_FILTERS | PAGE)
    rows, following = groups_list(wanted, limit=limit_of(params), after=after_text(params))
    return {"data": rows, "next_cursor": cursor_of(following)}


def _group(kind: str, project_id: int, params: Params, group_id: str) -> Group:
    """The group of this id within the window that is asked for."""
    window = {k: v for k in ("from", "to") if (v := params.get(k))}
    wanted = group_filter_of(kind, project_id, window, GROUP_FILTERS)
    found = {} if "\x00" in group_id else groups_by_ids(wanted, [group_id])
    if not found:
        raise NotFoundError(f"There is no such {kind} in this time")
    return found[group_id]
