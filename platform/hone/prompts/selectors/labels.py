"""Labels of a whole project, and which of them are protected."""

from dataclasses import dataclass

from django.db.models import Count

from hone.prompts.models import Label, ProtectedLabel


@dataclass(frozen=True, slots=True)
class LabelUse:
    """A label, whether only admins move it, and on how many prompts it is."""

    name: str
    is_protected: bool
    num_prompts: int


def protected_labels(project_id: int) -> frozenset[str]:
    """The labels that only admins of the project move."""
    rows = ProtectedLabel.objects.filter(project_id=project_id)
    return frozenset(rows.values_list("name", flat=True))


def label_uses(project_id: int) -> list[LabelUse]:
    """Every label that is used or protected, by name."""
    used = dict(
        Label.objects.filter(prompt__project_id=project_id)
        .values_list("name")
        .annotate(Count("prompt"))
        .order_by("name")
    )
    protected = protected_labels(project_id)
    names = sorted(used.keys() | protected)
    return [LabelUse(name, name in protected, used.get(name, 0)) for name in names]
