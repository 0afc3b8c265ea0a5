"""Prompts as messages for a model."""

from typing import Any

from hone.gateway.models import BatchItem
from hone.prompts.core.template import render


def messages_of(prompt: object) -> list[dict[str, Any]]:
    """A rendered prompt as messages: a text is one message of the user."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    assert isinstance(prompt, list)
    return list(prompt)


def item_messages(item: BatchItem) -> list[dict[str, Any]]:
    """What the model reads for one input of a run."""
    return messages_of(render(item.run.prompt, item.variables).content)
