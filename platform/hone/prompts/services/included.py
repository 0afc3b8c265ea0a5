"""What others include is not taken away without a word."""

from collections.abc import Collection, Sequence

from hone.common.errors import ConflictError
from hone.prompts.models import Prompt
from hone.prompts.selectors.includes import Included, included_by, spelled


class IncludedError(ConflictError):
    """Versions of others that are given out include it: without it they would say something else,
    or nothing."""

    code = "included"

    def __init__(
        self, what: str, found: Sequence[Included], *, wish: str, instead: str, field: str
    ) -> None:
        super().__init__(
            f"{field}: {what} is included by {spelled(found)}; got a request to {wish} it, want"
            f" those versions without it first, or {instead}",
            field=field,
        )
        self.found = found

    def body(self) -> dict[str, object]:
        """The error, and by whom it is included."""
        by = [{"name": one.name, "versions": list(one.versions)} for one in self.found]
        error = {"code": self.code, "message": self.message, "field": self.field}
        return {"error": {**error, "included_by": by}}


def prompt_may_go(prompt: Prompt, wish: str) -> None:
    """Raise IncludedError where others include the prompt, in whichever version."""
    if found := included_by(prompt.project_id, prompt.name):
        instead = "put it into the archive: it is still served"
        raise IncludedError(repr(prompt.name), found, wish=wish, instead=instead, field="name")


def label_may_go(prompt: Prompt, label: str) -> None:
    """Raise IncludedError where others include what the label stands on.

    Without the label production, who names no label would be given the latest version instead.
    """
    if found := included_by(prompt.project_id, prompt.name, labels=[label]):
        raise IncludedError(
            f"label {label!r} of {prompt.name!r}",
            found,
            wish="remove",
            instead="put the label on another version",
            field="label",
        )


def versions_may_go(prompt: Prompt, numbers: Collection[int], labels: Collection[str]) -> None:
    """Raise IncludedError where others include one of the versions by its number, or by one of
    the labels, which go with the versions."""
    found = included_by(prompt.project_id, prompt.name, numbers=numbers, labels=labels)
    if found:
        which = ", ".join(str(number) for number in sorted(numbers))
        raise IncludedError(
            f"version {which} of {prompt.name!r}",
            found,
            wish="delete",
            instead="move its labels to another version",
            field="version",
        )
