"""Prompts to files and back, as a folder in Git holds them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from django.db import transaction

from hone.accounts.models import Project
from hone.common.errors import HoneError
from hone.prompts.core.content import content_of
from hone.prompts.core.files import PromptFile, file_read, file_text, path_of
from hone.prompts.core.names import LATEST
from hone.prompts.models import Label, Prompt, PromptVersion
from hone.prompts.services.authors import Author
from hone.prompts.services.labels import label_set
from hone.prompts.services.prompts import prompt_update
from hone.prompts.services.rows import latest_of
from hone.prompts.services.versions import prompt_create, version_create

Action = Literal["created", "updated", "labeled", "unchanged", "behind", "conflict", "refused"]
MESSAGE: Final = "From files"


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of one file."""

    path: str
    name: str
    action: Action
    version: int | None = None
    message: str = ""


class _DryRunError(Exception):
    """Takes back what was only tried."""


def prompts_to_files(project: Project, *, label: str = LATEST) -> dict[str, str]:
    """Path to text of every prompt in use: of its version with the label, else of the latest."""
    labels = Label.objects.filter(
        prompt__project=project, prompt__archived_at=None, name__in={label, LATEST}
    )
    rows = labels.select_related("version__prompt").prefetch_related("version__labels")
    chosen: dict[str, PromptVersion] = {}
    for row in sorted(rows, key=lambda row: (row.version.prompt.name, row.name == label)):
        chosen[row.version.prompt.name] = row.version
    return {path_of(name): file_text(_file_of(version)) for name, version in chosen.items()}


def _file_of(version: PromptVersion) -> PromptFile:
    prompt = version.prompt
    labels = sorted(label.name for label in version.labels.all() if label.name != LATEST)
    return PromptFile(
        name=prompt.name,
        type=version.type,
        prompt=version.content,
        config=version.config,
        inputs=version.inputs,
        labels=tuple(labels),
        tags=tuple(prompt.tags),
        description=prompt.description,
        version=version.number,
    )


def prompts_from_files(
    *,
    project: Project,
    author: Author,
    files: Mapping[str, str],
    force: bool = False,
    dry_run: bool = False,
    message: str = "",
) -> list[Pushed]:
    """Make the prompts what the files say, each by itself, and tell what became of each.

    A file made of an older version than the latest is not written over what came since, unless
    forced. What other files contain may come later in the order: it is tried again.
    """
    waiting, done = dict(sorted(files.items())), dict[str, Pushed]()
    while waiting:
        results = {
            path: _pushed(project, author, path, text, force, dry_run, message or MESSAGE)
            for path, text in waiting.items()
        }
        done |= results
        again = {p: waiting[p] for p, pushed in results.items() if pushed.action == "refused"}
        if dry_run or len(again) == len(waiting):
            break
        waiting = again
    return [done[path] for path in sorted(done)]


def _pushed(
    project: Project,
    author: Author,
    path: str,
    text: str,
    force: bool,
    dry_run: bool,
    message: str,
) -> Pushed:
    name, pushed = path, None
    try:
        file = file_read(text, path)
        name = file.name
        with transaction.atomic():
            pushed = _push(project, author, path, file, force=force, message=message)
            if dry_run:
                raise _DryRunError
    except _DryRunError:
        assert pushed is not None
    except HoneError as error:
        return Pushed(path, name, "refused", message=error.message)
    return pushed


def _push(
    project: Project, author: Author, path: str, file: PromptFile, *, force: bool, message: str
) -> Pushed:
    prompt = Prompt.objects.filter(project=project, name=file.name).first()
    if prompt is None:
        made = prompt_create(
            project=project,
            author=author,
            name=file.name,
            type=file.type,
            prompt=file.prompt,
            config=file.config,
            inputs=file.inputs,
            labels=file.labels,
            tags=file.tags,
            description=file.description,
            message=message,
        )
        return Pushed(path, file.name, "created", made.number)
    return _update(prompt, author, path, file, force=force, message=message)


def _update(
    prompt: Prompt, author: Author, path: str, file: PromptFile, *, force: bool, message: str
) -> Pushed:
    content = content_of(file.type, file.prompt, file.config, file.inputs)
    latest = latest_of(prompt)
    is_same = content.hash == latest.content_hash
    known = latest if is_same else _version_of(prompt, file.version)
    is_old = file.version is not None and file.version < latest.number
    if is_old and not is_same and not force:
        if known is not None and known.content_hash == content.hash:
            return Pushed(path, file.name, "behind", file.version, f"the latest is {latest.number}")
        text = f"made of version {file.version}, the latest is {latest.number}: pull, or force"
        return Pushed(path, file.name, "conflict", file.version, text)
    version = latest
    if not is_same:
        version = version_create(
            prompt=prompt,
            author=author,
            type=file.type,
            content=file.prompt,
            config=file.config,
            inputs=file.inputs,
            message=message,
        )
    is_labeled = _label(prompt, author, version, file.labels)
    is_described = (list(file.tags), file.description) != (prompt.tags, prompt.description)
    if is_described:
        prompt_update(prompt=prompt, tags=file.tags, description=file.description)
    action: Action = "updated" if not is_same or is_described else "unchanged"
    if action == "unchanged" and is_labeled:
        action = "labeled"
    return Pushed(path, file.name, action, version.number)


def _version_of(prompt: Prompt, number: int | None) -> PromptVersion | None:
    return PromptVersion.objects.filter(prompt=prompt, number=number).first() if number else None


def _label(prompt: Prompt, author: Author, version: PromptVersion, labels: Iterable[str]) -> bool:
    """Put the file's labels on the version; whether any was elsewhere."""
    held = set(Label.objects.filter(version=version).values_list("name", flat=True))
    wanted = [label for label in labels if label != LATEST and label not in held]
    for label in wanted:
        label_set(prompt=prompt, author=author, label=label, version=version.number)
    return bool(wanted)
