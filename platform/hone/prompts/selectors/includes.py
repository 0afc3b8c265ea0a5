"""Which prompts hold another one in their text."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from hone.prompts.core.composition import references
from hone.prompts.core.names import DEFAULT, Reference
from hone.prompts.models import LabelArm, PromptVersion


@dataclass(frozen=True, slots=True)
class Included:
    """A prompt that includes another, with the numbers of its versions that do."""

    name: str
    versions: tuple[int, ...]


def included_by(
    project_id: int,
    name: str,
    *,
    numbers: Collection[int] | None = None,
    labels: Collection[str] | None = None,
) -> list[Included]:
    """The prompts of which a version that is given out by a label includes `name`.

    With `numbers` or `labels` only those that include one of these versions or labels of it; who
    names neither includes the label production. An old version without a label does not count:
    nobody is given it but who asks for its number.
    """

    def is_meant(reference: Reference) -> bool:
        if reference.name != name:
            return False
        if numbers is None and labels is None:
            return True
        if reference.number is not None:
            return reference.number in (numbers or ())
        return (reference.label or DEFAULT) in (labels or ())

    rows = _saying(_given_out(project_id), name).exclude(prompt__name=name)
    found: dict[str, set[int]] = {}
    for other, number, content in rows.values_list("prompt__name", "number", "content"):
        if any(is_meant(reference) for reference in references(content)):
            found.setdefault(other, set()).add(number)
    return [Included(other, tuple(sorted(numbers))) for other, numbers in sorted(found.items())]


def spelled(found: Iterable[Included]) -> str:
    """In words: `a (v1, v3), b (v2)`."""
    return ", ".join(
        f"{one.name} ({', '.join(f'v{number}' for number in one.versions)})" for one in found
    )


def _given_out(project_id: int) -> QuerySet[PromptVersion, PromptVersion]:
    arms = LabelArm.objects.filter(prompt__project_id=project_id).values("version_id")
    given = Q(labels__isnull=False) | Q(pk__in=arms)
    return PromptVersion.objects.filter(given, prompt__project_id=project_id)


def _saying(
    rows: QuerySet[PromptVersion, PromptVersion], name: str
) -> QuerySet[PromptVersion, PromptVersion]:
    """Those whose content has the name anywhere: few are left to be read as templates."""
    as_json = json.dumps(name, ensure_ascii=False)[1:-1]
    return rows.annotate(said=Cast("content", TextField())).filter(said__contains=as_json)
