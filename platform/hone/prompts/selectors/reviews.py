"""Which labels need approvals, and whether a version has them."""

from collections.abc import Sequence

from django.db.models import Q

from hone.common.errors import ForbiddenError
from hone.prompts.models import Prompt, PromptVersion, ReviewedLabel, VersionApproval


def reviewed_labels(project_id: int) -> dict[str, int]:
    """Label to the number of approvals that it needs, of the project."""
    rows = ReviewedLabel.objects.filter(project_id=project_id).order_by("name")
    return dict(rows.values_list("name", "num_approvals"))


def approvals_of(version: PromptVersion) -> list[str]:
    """The people who approved what the version says, in any version of the prompt that says it.

    So a label may go back to what was approved once, and to a copy of it.
    """
    rows = VersionApproval.objects.filter(
        version__prompt_id=version.prompt_id, version__content_hash=version.content_hash
    ).order_by("created_at")
    people = {
        user_id or f"gone {name}": name
        for user_id, name in rows.values_list("user_id", "user_name")
    }
    return list(people.values())


def review_check(prompt: Prompt, label: str, versions: Sequence[PromptVersion]) -> None:
    """Raise ForbiddenError where the label needs approvals that one of the versions lacks."""
    found = ReviewedLabel.objects.filter(Q(project_id=prompt.project_id), Q(name=label)).first()
    if found is None:
        return
    for version in versions:
        have = len(approvals_of(version))
        if have < found.num_approvals:
            raise ForbiddenError(
                f"label: {label!r} needs {found.num_approvals} approvals of what it is put on,"
                f" version {version.number} has {have}; propose a draft and have it reviewed",
                field="label",
            )
