"""Labels: put on versions, split over several, protected, taken away."""

import secrets
from collections.abc import Iterable, Sequence

from django.db import transaction

from hone.accounts.models import Project
from hone.common import clock
from hone.common.errors import InvalidError, NotFoundError
from hone.prompts.core.names import label_clean
from hone.prompts.core.split import Arm, arms_clean
from hone.prompts.models import Label, LabelArm, Prompt, PromptVersion, ProtectedLabel
from hone.prompts.selectors.reviews import review_check
from hone.prompts.services.authors import Author
from hone.prompts.services.included import label_may_go
from hone.prompts.services.rows import lock, point, tell, version_of

MAX_PROTECTED = 100


@transaction.atomic
def labels_add(
    *, prompt: Prompt, author: Author, version: int, labels: Iterable[str]
) -> PromptVersion:
    """Put several labels on a version; those that it has stay."""
    wanted = [label_clean(label) for label in dict.fromkeys(labels)]
    locked = lock(prompt)
    author.may_move(prompt.project_id, wanted)
    target = version_of(locked, version)
    for label in wanted:
        point(locked, label, target)
        tell(locked, "prompt.label_set", label=label, version=version)
    return target


@transaction.atomic
def label_set(*, prompt: Prompt, author: Author, label: str, version: int) -> PromptVersion:
    """Put the label on a version; it leaves the one that had it in the same moment."""
    name = label_clean(label)
    locked = lock(prompt)
    author.may_move(prompt.project_id, [name])
    target = version_of(locked, version)
    point(locked, name, target)
    tell(locked, "prompt.label_set", label=name, version=version)
    return target


@transaction.atomic
def label_split(
    *, prompt: Prompt, author: Author, label: str, arms: Sequence[Arm], reshuffle: bool = False
) -> Label:
    """Let the label stand for several versions by weight, the first one for whoever is unknown.

    A split that the label has already keeps its salt, so that nobody moves without need, unless
    everybody is to be dealt anew.
    """
    name, checked = label_clean(label), arms_clean(arms)
    locked = lock(prompt)
    author.may_move(prompt.project_id, [name])
    versions = [version_of(locked, arm.version) for arm in checked]
    review_check(locked, name, versions)
    known = Label.objects.filter(prompt=locked, name=name).first()
    salt = known.salt if known and known.salt and not reshuffle else secrets.token_hex(8)
    row, _ = Label.objects.update_or_create(
        prompt=locked,
        name=name,
        defaults={"version": versions[0], "salt": salt, "updated_at": clock.now()},
    )
    LabelArm.objects.filter(label=row).delete()
    LabelArm.objects.bulk_create(
        LabelArm(label=row, prompt=locked, version=version, weight=arm.weight)
        for version, arm in zip(versions, checked, strict=True)
    )
    tell(locked, "prompt.label_set", label=name, version=versions[0].number)
    return row


@transaction.atomic
def label_remove(*, prompt: Prompt, author: Author, label: str) -> None:
    """Take the label away; raises NotFoundError where the prompt has none such, and IncludedError
    where other prompts include what it stands on."""
    name = label_clean(label)
    locked = lock(prompt)
    author.may_move(prompt.project_id, [name])
    label_may_go(locked, name)
    if not Label.objects.filter(prompt=locked, name=name).delete()[0]:
        raise NotFoundError(f"prompt: {prompt.name!r} has no label {name!r}", field="label")
    tell(locked, "prompt.label_removed", label=name)


@transaction.atomic
def labels_protect(*, project: Project, author: Author, labels: Iterable[str]) -> None:
    """Let only admins move exactly these labels, on every prompt of the project."""
    wanted = {label_clean(label) for label in labels}
    if len(wanted) > MAX_PROTECTED:
        raise InvalidError(f"labels: want at most {MAX_PROTECTED}", field="labels")
    rows = ProtectedLabel.objects.filter(project=project)
    rows.exclude(name__in=wanted).delete()
    ProtectedLabel.objects.bulk_create(
        (
            ProtectedLabel(
                project=project, name=name, author_name=author.name, created_at=clock.now()
            )
            for name in sorted(wanted)
        ),
        ignore_conflicts=True,
    )
