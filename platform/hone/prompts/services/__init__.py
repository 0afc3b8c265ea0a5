"""Writes of prompts, and prompts given out from memory."""

from hone.prompts.services.authors import Author
from hone.prompts.services.labels import (
    label_remove,
    label_set,
    label_split,
    labels_add,
    labels_protect,
)
from hone.prompts.services.prompts import prompt_archive, prompt_delete, prompt_update
from hone.prompts.services.serving import prompt_serve
from hone.prompts.services.versions import (
    prompt_create,
    version_copy,
    version_create,
    version_publish,
    versions_delete,
)

__all__ = [
    "Author",
    "label_remove",
    "label_set",
    "label_split",
    "labels_add",
    "labels_protect",
    "prompt_archive",
    "prompt_create",
    "prompt_delete",
    "prompt_serve",
    "prompt_update",
    "version_copy",
    "version_create",
    "version_publish",
    "versions_delete",
]
