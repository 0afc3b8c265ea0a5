"""Reads of prompts."""

from hone.prompts.selectors.calls import PromptCall, Trend, prompt_trends, version_calls
from hone.prompts.selectors.labels import LabelUse, label_uses, protected_labels
from hone.prompts.selectors.listing import prompt_get, prompt_list, version_get, version_list
from hone.prompts.selectors.measures import newest_versions, version_figures
from hone.prompts.selectors.public import prompts_public, versions_of
from hone.prompts.selectors.resolve import (
    Resolved,
    Served,
    ServedVersion,
    prompt_resolve,
    prompt_served,
    template_composed,
    version_composed,
    version_find,
)

__all__ = [
    "LabelUse",
    "PromptCall",
    "Resolved",
    "Served",
    "ServedVersion",
    "Trend",
    "label_uses",
    "newest_versions",
    "prompt_get",
    "prompt_list",
    "prompt_resolve",
    "prompt_served",
    "prompt_trends",
    "prompts_public",
    "protected_labels",
    "template_composed",
    "version_calls",
    "version_composed",
    "version_figures",
    "version_find",
    "version_get",
    "version_list",
    "versions_of",
]
