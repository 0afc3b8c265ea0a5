"""Ids as their senders wrote them."""

from collections.abc import Collection

from hone.traces.selectors.query import fetch


def external_ids(project_id: int, keys: Collection[str]) -> dict[str, str]:
    """Hex id -> id as it was sent, for those traces and observations that came as events."""
    if not keys:
        return {}
    rows = fetch(
        "SELECT key, external_id FROM traces_legacy WHERE project_id = %s AND key = ANY(%s)",
        [project_id, [bytes.fromhex(key) for key in keys]],
    )
    return {bytes(key).hex(): text for key, text in rows}
