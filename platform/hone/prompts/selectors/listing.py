"""Prompts and versions as lists show them."""

import json

from django.db.models import Prefetch, Q, QuerySet, TextField
from django.db.models.functions import Cast

from hone.common.errors import NotFoundError
from hone.prompts.core.names import LATEST, Reference
from hone.prompts.models import Label, LabelArm, Prompt, PromptVersion
from hone.prompts.selectors.resolve import missing

# A list needs no contents, which may be long.
LABELS = Prefetch(
    "labels",
    Label.objects.select_related("version")
    .only("name", "prompt_id", "version_id", "version__number", "version__type")
    .prefetch_related(
        Prefetch(
            "arms",
            LabelArm.objects.select_related("version").only(
                "label_id", "weight", "version_id", "version__number"
            ),
        )
    ),
)


def prompt_get(project_id: int, name: str) -> Prompt:
    """The prompt with its labels; raises NotFoundError."""
    prompt = (
        Prompt.objects.filter(project_id=project_id, name=name).prefetch_related(LABELS).first()
    )
    if prompt is None:
        raise NotFoundError(f"There is no prompt {name!r}")
    return prompt


def prompt_list(
    project_id: int,
    *,
    q: str = "",
    label: str = "",
    tag: str = "",
    folder: str = "",
    archived: bool = False,
) -> QuerySet[Prompt, Prompt]:
    """Prompts with their labels fetched, those in use or those in the archive.

    `q` stands in the name, a tag, or the text of a version that has a label.
    """
    condition = Q(project_id=project_id, archived_at__isnull=not archived)
    if q:
        condition &= Q(name__icontains=q) | Q(tags__icontains=q) | Q(pk__in=_saying(project_id, q))
    if label:
        condition &= Q(labels__name=label)
    if tag:
        condition &= Q(tags__contains=[tag])
    if folder:
        condition &= Q(name__startswith=folder.rstrip("/") + "/")
    return Prompt.objects.filter(condition).prefetch_related(LABELS)


def _saying(project_id: int, q: str) -> QuerySet[Label, int]:
    """Ids of the prompts with a labeled version that says `q`, in any case of letters."""
    spelled = json.dumps(q, ensure_ascii=False)[1:-1]  # as it stands inside of JSON
    return (
        Label.objects.filter(prompt__project_id=project_id)
        .annotate(said=Cast("version__content", TextField()))
        .filter(said__icontains=spelled)
        .values_list("prompt_id", flat=True)
    )


def version_list(prompt: Prompt) -> QuerySet[PromptVersion, PromptVersion]:
    """The prompt's versions with author, labels and parent fetched."""
    return (
        PromptVersion.objects.filter(prompt=prompt)
        .select_related("author", "parent")
        .prefetch_related("labels")
    )


def version_get(prompt: Prompt, *, number: int | None = None, label: str = LATEST) -> PromptVersion:
    """One version by number or by label; raises NotFoundError."""
    rows = version_list(prompt)
    found = (
        rows.filter(labels__name=label).first()
        if number is None
        else rows.filter(number=number).first()
    )
    if found is None:
        raise NotFoundError(missing(Reference(prompt.name, number, label)))
    return found
