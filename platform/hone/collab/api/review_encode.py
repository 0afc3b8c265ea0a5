"""Merges, comments and proposals as the JSON that clients get."""

from base64 import b64encode
from typing import Any

from hone.accounts.models import User
from hone.collab.core.merge import Conflict, Entry, Held, Setting, Settings, Stretch
from hone.collab.core.pairing import Message, message_key
from hone.collab.core.resolve import merge_resolve
from hone.collab.models import DraftComment, Proposal, Verdict
from hone.collab.services.merge import Prepared, Source
from hone.collab.services.review import Stand


def merge_body(prepared: Prepared, source: Source) -> dict[str, Any]:
    merge = prepared.merge
    shown = {entry.mine for entry in merge.entries}
    mine = prepared.mine.prompt if merge.type == "chat" else []
    gone = [dict(m) for n, m in enumerate(mine) if n not in shown and isinstance(m, dict)]
    is_changed = merge_resolve(merge, {}).shape != prepared.mine or bool(merge.conflicts)
    return {
        "seq": prepared.seq,
        "source": source.name,
        "base_version": prepared.base.number if prepared.base else None,
        "type": merge.type,
        "is_changed": is_changed,
        "text": [_stretch(stretch) for stretch in merge.text],
        "messages": [_message(entry) for entry in merge.entries],
        "removed": [_whole(message, "edited") for message in gone],
        "settings": [
            *_settings("config", merge.config),
            *_settings("variables", merge.variables),
        ],
        "conflicts": [_conflict(conflict) for conflict in merge.conflicts.values()],
    }


def _stretch(stretch: Stretch) -> dict[str, Any]:
    piece = stretch.piece
    return {
        "kind": piece.kind,
        "text": piece.text,
        "mine": piece.mine,
        "theirs": piece.theirs,
        "conflict": stretch.conflict.id if stretch.conflict else None,
    }


def _text_of(message: Message) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else message_key(message)


def _whole(message: Message, state: str) -> dict[str, Any]:
    text = _text_of(message)
    piece = {"kind": "same", "text": text, "mine": text, "theirs": text, "conflict": None}
    role = str(message.get("role") or message.get("type") or "")
    return {"state": state, "role": role, "content": [piece], "conflict": None}


def _message(entry: Entry) -> dict[str, Any]:
    """The message as it will be; its other keys and contents that are no text as JSON."""
    if entry.whole is not None:
        state = "inserted" if entry.mine is None else "same"
        body = _whole(entry.whole, state)
        if entry.conflict is not None:
            body |= {"state": "conflict", "conflict": entry.conflict.id}
        return body
    role = entry.rest.get("role")
    held = role.value if isinstance(role, Setting) else ()
    rest = {"role": held[0] if held else ""}
    if entry.content is None:
        return _whole({**rest, **_plain(entry.rest)}, "edited")
    return {**_whole(rest, "edited"), "content": [_stretch(one) for one in entry.content]}


def _plain(settings: Settings) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, setting in settings.items():
        if not isinstance(setting, Setting):
            out[key] = _plain(setting)
        elif setting.value:
            out[key] = setting.value[0]
    return out


def _settings(path: str, settings: Settings) -> list[dict[str, Any]]:
    """What changed or is in conflict; the rest needs no reader."""
    out = []
    for key, setting in settings.items():
        here = f"{path}.{key}"
        if not isinstance(setting, Setting):
            out += _settings(here, setting)
        elif setting.mine != setting.base or setting.theirs != setting.base:
            out.append(
                {
                    "path": here,
                    "kind": _kind(setting),
                    "mine": setting.mine[0] if setting.mine else None,
                    "theirs": setting.theirs[0] if setting.theirs else None,
                    "conflict": setting.conflict.id if setting.conflict else None,
                }
            )
    return out


def _kind(setting: Setting) -> str:
    if setting.conflict is not None:
        return "conflict"
    if setting.mine == setting.theirs:
        return "both"
    return "theirs" if setting.mine == setting.base else "mine"


def _conflict(conflict: Conflict) -> dict[str, Any]:
    def held(value: Held) -> dict[str, Any] | None:
        return {"value": value[0]} if value else None

    return {
        "id": conflict.id,
        "kind": conflict.kind,
        "where": conflict.where,
        "base": held(conflict.base),
        "mine": held(conflict.mine),
        "theirs": held(conflict.theirs),
    }


def comment_body(comment: DraftComment, reader: User | None) -> dict[str, Any]:
    def anchor(value: bytes | memoryview | None) -> str | None:
        return None if value is None else b64encode(bytes(value)).decode()

    return {
        "id": comment.pk,
        "parent": comment.parent_id,
        "start": anchor(comment.start),
        "end": anchor(comment.end),
        "quote": comment.quote,
        "body": comment.body,
        "author": comment.author_name,
        "is_own": reader is not None and comment.author_id == reader.pk,
        "resolved_at": comment.resolved_at,
        "resolved_by": comment.resolved_by,
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
    }


def proposal_body(proposal: Proposal, reader: User | None) -> dict[str, Any]:
    return {
        "label": proposal.label,
        "message": proposal.message,
        "status": proposal.status,
        "author": proposal.author_name,
        "is_own": reader is not None and proposal.author_id == reader.pk,
        "version": proposal.version.number if proposal.version else None,
        "created_at": proposal.created_at,
        "updated_at": proposal.updated_at,
    }


def stand_body(stand: Stand, verdicts: list[Verdict], reader: User | None) -> dict[str, Any]:
    return {
        **proposal_body(stand.proposal, reader),
        "content_hash": stand.hash,
        "num_needed": stand.standing.needed,
        "num_approvals": len(stand.standing.approvals),
        "verdicts": [
            {
                "author": verdict.user_name,
                "kind": verdict.kind,
                "note": verdict.note,
                "is_stale": verdict.content_hash != stand.hash,
                "created_at": verdict.created_at,
            }
            for verdict in verdicts
        ],
        "reasons": list(stand.reasons),
    }
