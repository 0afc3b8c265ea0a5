"""Which version a reference names, and what it says."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import QuerySet

from hone.common.errors import InvalidError, NotFoundError
from hone.prompts.core.composition import Composed, Part, composed, has_tags
from hone.prompts.core.names import DEFAULT, LATEST, Reference, reference_parse
from hone.prompts.core.split import NOBODY, Arm, Assignment, Split, Subject
from hone.prompts.core.template import Rendered, Template, render, variables
from hone.prompts.models import Label, PromptVersion


@dataclass(frozen=True, slots=True)
class Resolved:
    """The version that a reference names."""

    name: str
    version: int
    type: str  # text | chat
    prompt: Template
    config: dict[str, Any]
    labels: tuple[str, ...]
    variables: tuple[str, ...]
    assignment: Assignment | None = None  # where the label is split

    def render(self, values: Mapping[str, Any]) -> Rendered:
        """The text or messages with `values` filled in, and the names of what is missing."""
        return render(self.prompt, values)


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """A version as it is given out: its row, its text with what it contains, and the same bare.

    `encoded` is the edge's: bodies made of this version, by what they were made for.
    """

    row: PromptVersion
    whole: Composed
    resolved: Resolved
    encoded: dict[Hashable, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Served:
    """All that a reference may stand for, read at one moment."""

    main: int
    versions: Mapping[int, ServedVersion]  # by number
    split: Split | None = None

    def pick(self, subject: Subject) -> tuple[ServedVersion, Assignment | None]:
        """The version for `subject`, and how it was chosen where there was a choice."""
        if self.split is None:
            return self.versions[self.main], None
        assignment = self.split.assign(subject)
        return self.versions[assignment.version], assignment

    def resolved(self, subject: Subject) -> Resolved:
        version, assignment = self.pick(subject)
        return replace(version.resolved, assignment=assignment) if assignment else version.resolved


def prompt_resolve(
    project_id: int, reference: str | Reference, subject: Subject = NOBODY
) -> Resolved:
    """The version of `name@3`, `name@label`, or `name` (label production, else the latest).

    Raises InvalidError for a malformed reference, NotFoundError for one that leads nowhere.
    """
    wanted = reference if isinstance(reference, Reference) else reference_parse(reference)
    return prompt_served(project_id, wanted).resolved(subject)


def prompt_served(
    project_id: int, wanted: Reference, *, raw: bool = False, names: set[str] | None = None
) -> Served:
    """What a reference stands for, `raw` with the tags of other prompts as they stand.

    `names` gets the names of all prompts that were asked for, also where one is missing. Raises
    NotFoundError, and InvalidError where a prompt cannot hold what it contains.
    """
    names = set() if names is None else names
    names.add(wanted.name)
    label = None if wanted.number is not None else _label(project_id, wanted)
    if label is None:
        main = version_find(project_id, wanted)
        return Served(main.number, {main.number: _served(project_id, main, names, raw=raw)})
    arms = sorted(label.arms.all(), key=lambda arm: (arm.version_id != label.version_id, arm.pk))
    ids = {label.version_id, *(arm.version_id for arm in arms)}
    rows = {row.pk: row for row in _rows(project_id, wanted.name).filter(pk__in=ids)}
    versions = {row.number: _served(project_id, row, names, raw=raw) for row in rows.values()}
    split = None
    if arms:
        numbers = tuple(Arm(rows[arm.version_id].number, arm.weight) for arm in arms)
        split = Split(project_id, wanted.name, label.name, label.salt, numbers)
    return Served(rows[label.version_id].number, versions, split)


def _served(
    project_id: int, version: PromptVersion, names: set[str], *, raw: bool
) -> ServedVersion:
    content, name = version.content, version.prompt.name
    whole = Composed(content, []) if raw else template_composed(project_id, name, content, names)
    resolved = Resolved(
        name=version.prompt.name,
        version=version.number,
        type=version.type,
        prompt=whole.template,
        config=version.config,
        labels=tuple(sorted(label.name for label in version.labels.all())),
        variables=tuple(variables(whole.template) if whole.parts else version.variables),
    )
    return ServedVersion(version, whole, resolved)


def version_find(project_id: int, wanted: Reference) -> PromptVersion:
    """The version that a reference names, with prompt and labels fetched; raises NotFoundError."""
    rows = _rows(project_id, wanted.name)
    if wanted.number is not None:
        version = rows.filter(number=wanted.number).first()
    else:
        label = _label(project_id, wanted)
        version = rows.filter(pk=label.version_id).first() if label else None
    if version is None:
        raise NotFoundError(missing(wanted), field="prompt")
    return version


def version_composed(project_id: int, version: PromptVersion) -> Composed:
    """What the version says with the prompts that it contains; as `core.composition.composed`."""
    return template_composed(project_id, version.prompt.name, version.content)


def template_composed(
    project_id: int, name: str, template: Template, names: set[str] | None = None
) -> Composed:
    """As `version_composed` for a template of the prompt `name`, which need not be stored.

    `names` gets the names of all prompts that it asks for.
    """
    if not has_tags(template):
        return Composed(template, [])

    def read(reference: Reference) -> Part:
        if reference.name == name:
            raise InvalidError(f"prompt: {name!r} contains itself", field="prompt")
        if names is not None:
            names.add(reference.name)
        inner = version_find(project_id, reference)
        return Part(reference.name, inner.number, inner.content)

    return composed(template, read)


def _rows(project_id: int, name: str) -> QuerySet[PromptVersion, PromptVersion]:
    return (
        PromptVersion.objects.filter(prompt__project_id=project_id, prompt__name=name)
        .select_related("prompt__project")
        .prefetch_related("labels")
    )


def _label(project_id: int, wanted: Reference) -> Label | None:
    """The label that is meant, with its arms; without one production, else the latest."""
    names = [wanted.label] if wanted.label is not None else [DEFAULT, LATEST]
    found = {
        label.name: label
        for label in Label.objects.filter(
            prompt__project_id=project_id, prompt__name=wanted.name, name__in=names
        ).prefetch_related("arms")
    }
    return next((found[name] for name in names if name in found), None)


def missing(wanted: Reference) -> str:
    """In words, what a reference does not find."""
    if wanted.number is not None:
        return f"prompt: {wanted.name!r} has no version {wanted.number}"
    if wanted.label is not None:
        return f"prompt: {wanted.name!r} has no label {wanted.label!r}"
    return f"prompt: there is no prompt {wanted.name!r}"
