"""Rows as the JSON that clients get."""

from collections.abc import Iterable, Sequence
from typing import Any

from hone.prompts.core.names import LATEST
from hone.prompts.core.template import Rendered
from hone.prompts.models import Label, Prompt, PromptVersion
from hone.prompts.selectors import Resolved


def version_body(version: PromptVersion) -> dict[str, Any]:
    return {
        "version": version.number,
        "type": version.type,
        "prompt": version.content,
        "config": version.config,
        "labels": sorted(label.name for label in version.labels.all()),
        "variables": version.variables,
        "inputs": version.inputs,
        "parent": version.parent.number if version.parent else None,
        "author": {
            "name": version.author_name,
            "email": version.author.email if version.author else None,
        },
        "message": version.message,
        "content_hash": version.content_hash,
        "created_at": version.created_at,
    }


def prompt_row(prompt: Prompt) -> dict[str, Any]:
    """Wants `labels__version` and their arms fetched."""
    splits = {label.name: arms_body(label) for label in prompt.labels.all() if label.arms.all()}
    versions = {label.name: label.version for label in prompt.labels.all()}
    return {
        "name": prompt.name,
        "type": versions[LATEST].type,
        "description": prompt.description,
        "tags": prompt.tags,
        "labels": {name: version.number for name, version in sorted(versions.items())},
        "splits": splits,
        "latest_version": versions[LATEST].number,
        "archived_at": prompt.archived_at,
        "created_at": prompt.created_at,
        "updated_at": prompt.updated_at,
    }


def arms_body(label: Label) -> list[dict[str, int]]:
    """The versions that a label is split over, the main one first."""
    arms = sorted(label.arms.all(), key=lambda arm: (arm.version_id != label.version_id, arm.pk))
    return [{"version": arm.version.number, "weight": arm.weight} for arm in arms]


def prompt_body(prompt: Prompt, version: PromptVersion) -> dict[str, Any]:
    return {**prompt_row(prompt), "version": version_body(version)}


def rendering(
    resolved: Resolved,
    rendered: Rendered,
    parts: Iterable[tuple[str, int]] = (),
    problems: Sequence[str] = (),
) -> dict[str, Any]:
    is_text = isinstance(rendered.content, str)
    return {
        "name": resolved.name,
        "version": resolved.version,
        "type": resolved.type,
        "config": resolved.config,
        "text": rendered.content if is_text else None,
        "messages": None if is_text else rendered.content,
        "missing": list(rendered.missing),
        "parts": [{"name": name, "version": version} for name, version in parts],
        "problems": problems,
    }
