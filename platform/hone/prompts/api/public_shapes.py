"""Bodies of the public prompt endpoints."""

from typing import Any, Final

from hone.common.errors import InvalidError
from hone.common.public import stamp
from hone.prompts.core.composition import Composed
from hone.prompts.core.content import CHAT, TEXT
from hone.prompts.core.names import DEFAULT, LATEST
from hone.prompts.core.split import Assignment
from hone.prompts.models import Prompt, PromptVersion

MESSAGE_TYPE: Final = "chatmessage"  # said of every message that is no placeholder


def version_body(version: PromptVersion, project: str, whole: Composed | None) -> dict[str, Any]:
    """A version as clients enforce it; `whole` holds its text with the prompts inside."""
    prompt = version.prompt
    labels = sorted(label.name for label in version.labels.all())
    return {
        "id": str(version.pk),
        "projectId": project,
        "createdAt": stamp(version.created_at),
        "updatedAt": stamp(prompt.updated_at),
        "createdBy": version.author_name,
        "name": prompt.name,
        "version": version.number,
        "type": version.type,
        "prompt": whole.template if whole else version.content,
        "config": version.config,
        "labels": labels,
        "tags": prompt.tags,
        "isActive": DEFAULT in labels,
        "commitMessage": version.message or None,
        "resolutionGraph": _graph(version, whole) if whole and whole.parts else None,
    }


def split_body(assignment: Assignment) -> dict[str, Any]:
    """How a version of a split label was chosen."""
    return {
        "label": assignment.label,
        "version": assignment.version,
        "by": assignment.by,
        "arms": [{"version": arm.version, "weight": arm.weight} for arm in assignment.arms],
    }


def _graph(version: PromptVersion, whole: Composed) -> dict[str, Any]:
    parts = [{"name": part.name, "version": part.version} for part in whole.parts]
    return {
        "root": {"name": version.prompt.name, "version": version.number},
        "dependencies": parts,
    }


def meta_body(prompt: Prompt) -> dict[str, Any]:
    """A prompt in a list; wants `versions` and `labels__version` fetched."""
    labels = {label.name: label.version for label in prompt.labels.all()}
    return {
        "name": prompt.name,
        "type": labels[LATEST].type,
        "versions": sorted(version.number for version in prompt.versions.all()),
        "labels": sorted(labels),
        "tags": prompt.tags,
        "lastUpdatedAt": stamp(prompt.updated_at),
        "lastConfig": labels[LATEST].config,
    }


def publish_fields(data: Any) -> dict[str, Any]:
    """The arguments of `version_publish` that a body spells; raises InvalidError."""
    if not isinstance(data, dict):
        raise InvalidError("Invalid request data: want an object")
    name, message = data.get("name"), data.get("commitMessage")
    if not isinstance(name, str):
        raise InvalidError("name: want a text", field="name")
    if message is not None and not isinstance(message, str):
        raise InvalidError("commitMessage: want a text", field="commitMessage")
    type = data.get("type") or TEXT
    prompt = data.get("prompt")
    tags = _texts(data, "tags")
    return {
        "name": name,
        "type": type,
        "prompt": _messages(prompt) if type == CHAT and isinstance(prompt, list) else prompt,
        "config": data.get("config"),
        "labels": _texts(data, "labels") or [],
        "tags": tags,
        "message": message or "",
    }


def _texts(data: dict[str, Any], field: str) -> list[str] | None:
    value = data.get(field)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidError(f"{field}: want a list of texts", field=field)
    return value


def _messages(prompt: list[Any]) -> list[Any]:
    """Messages without the type that only says that they are messages: models do not know it."""
    return [
        {key: value for key, value in message.items() if (key, value) != ("type", MESSAGE_TYPE)}
        if isinstance(message, dict)
        else message
        for message in prompt
    ]
