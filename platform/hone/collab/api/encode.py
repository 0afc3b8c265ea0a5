from hone.collab.core.shape import Shape
from hone.collab.models import Draft, DraftMoment


def draft_body(draft: Draft) -> dict[str, object]:
    return {
        "id": draft.pk,
        "name": draft.name,
        "prompt": draft.prompt.name,
        "base_version": draft.base.number if draft.base else None,
        "status": draft.status,
        "author": draft.author_name,
        "seq": draft.seq,
        "created_at": draft.created_at,
        "updated_at": draft.updated_at,
    }


def content_body(shape: Shape) -> dict[str, object]:
    return {
        "type": shape.type,
        "content": shape.prompt,
        "config": shape.config,
        "variables": shape.variables,
    }


def moment_body(moment: DraftMoment) -> dict[str, object]:
    return {
        "seq": moment.seq,
        "people": moment.people,
        "version": moment.version.number if moment.version else None,
        "created_at": moment.created_at,
    }
