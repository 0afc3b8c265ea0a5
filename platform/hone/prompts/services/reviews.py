"""What reviews leave behind: labels that need approvals, and approvals of versions."""

from collections.abc import Iterable, Mapping

from django.db import transaction

from hone.accounts.models import Project, User
from hone.common import clock, events
from hone.common.errors import InvalidError
from hone.prompts.core.names import label_clean
from hone.prompts.models import PromptVersion, ReviewedLabel, VersionApproval

MOST_APPROVALS = 10
MAX_REVIEWED = 100


@transaction.atomic
def labels_review(*, project: Project, labels: Mapping[str, int]) -> None:
    """Let exactly these labels need that many approvals each, on every prompt of the project."""
    if len(labels) > MAX_REVIEWED:
        raise InvalidError(
            f"labels: got {len(labels)}, want at most {MAX_REVIEWED}", field="labels"
        )
    for label, number in labels.items():
        label_clean(label)
        if not 1 <= number <= MOST_APPROVALS:
            raise InvalidError(
                f"labels.{label}: got {number}, want 1 to {MOST_APPROVALS} approvals",
                field="labels",
            )
    rows = ReviewedLabel.objects.filter(project=project)
    rows.exclude(name__in=labels).delete()
    for label, number in labels.items():
        rows.update_or_create(project=project, name=label, defaults={"num_approvals": number})
    events.publish(project.pk, "review.policy", {})


def version_approve(*, version: PromptVersion, people: Iterable[tuple[User | None, str]]) -> None:
    """Record who approved what the version says."""
    VersionApproval.objects.bulk_create(
        (
            VersionApproval(version=version, user=user, user_name=name, created_at=clock.now())
            for user, name in people
        ),
        ignore_conflicts=True,
    )
