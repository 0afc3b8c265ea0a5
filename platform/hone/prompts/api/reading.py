"""One prompt read by a program: what it asks for, and the answer's body."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from hone.common.errors import InvalidError, NotFoundError
from hone.common.public import flag_of, number_of
from hone.prompts.api.public_shapes import split_body, version_body
from hone.prompts.core.names import DEFAULT, MAX_NUMBER, Reference
from hone.prompts.core.split import Subject
from hone.prompts.selectors import Served


@dataclass(frozen=True, slots=True)
class Asked:
    """A version or label of a prompt, for somebody; `raw` with tags as they stand."""

    reference: Reference
    raw: bool
    subject: Subject


def asked_of(name: str, params: QueryDict, headers: Mapping[str, str]) -> Asked:
    """What a query string and headers ask for; without version and label the one in production.

    A split label is decided by `user` and `session`, or the headers X-Hone-User and
    X-Hone-Session. Raises InvalidError.
    """
    number = number_of(params, "version", minimum=1, maximum=MAX_NUMBER)
    label = params.get("label") or None
    if number is not None and label is not None:
        raise InvalidError("version and label: only one of them may be given", field="version")
    subject = Subject(
        user=params.get("user") or headers.get("x-hone-user", ""),
        session=params.get("session") or headers.get("x-hone-session", ""),
    )
    reference = Reference(name, number, label if number or label else DEFAULT)
    return Asked(reference, flag_of(params, "resolve") is False, subject)


@contextmanager
def public_words(asked: Asked) -> Iterator[None]:
    """Say that a prompt is missing in the words that make clients fall back."""
    try:
        yield
    except NotFoundError:
        wanted = asked.reference
        which = f"version {wanted.number}" if wanted.number else f"label {wanted.label!r}"
        raise NotFoundError(f"Prompt not found: {wanted.name!r} with {which}") from None


def prompt_body(served: Served, asked: Asked) -> dict[str, Any]:
    """The body for whoever asks."""
    version, assignment = served.pick(asked.subject)
    whole = None if asked.raw else version.whole
    body = version_body(version.row, version.row.prompt.project.slug, whole)
    if assignment is not None:
        body["split"] = split_body(assignment)
    return body
