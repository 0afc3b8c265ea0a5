"""Proposing a draft, judging it, and publishing it to its label."""

from dataclasses import dataclass

from django.db import IntegrityError, transaction

from hone.accounts.models import User
from hone.collab.core.review import Opinion, Standing, shape_hash, standing_of
from hone.collab.core.shape import ShapeError
from hone.collab.models import Draft, Proposal, Verdict
from hone.collab.selectors import draft_content, verdict_list
from hone.collab.services.drafts import draft_publish
from hone.collab.services.tell import draft_changed
from hone.common import clock
from hone.common.errors import ConflictError, ForbiddenError, InvalidError
from hone.prompts.core.names import LATEST, label_clean
from hone.prompts.models import PromptVersion
from hone.prompts.selectors import protected_labels
from hone.prompts.selectors.reviews import reviewed_labels
from hone.prompts.services import Author, labels_add
from hone.prompts.services.reviews import version_approve

MESSAGE_LEN = 2000
MOST_VERDICTS = 500  # of a proposal


@dataclass(frozen=True, slots=True)
class Stand:
    """A proposal as it stands now. hash: of what the draft says."""

    proposal: Proposal
    hash: str
    standing: Standing
    reasons: tuple[str, ...]  # why it cannot be published; empty where it can


def proposal_stand(proposal: Proposal, *, is_admin: bool = False) -> Stand:
    """How the proposal stands for a reader who is or is not an admin."""
    draft = proposal.draft
    try:
        content_hash = shape_hash(draft_content(draft.pk)[1])
    except ShapeError as error:
        raise InvalidError(f"prompt: {error}", field="prompt") from None
    needed = reviewed_labels(draft.project_id).get(proposal.label, 0)
    opinions = [
        Opinion(row.user_id, row.user_name, row.kind, row.content_hash)  # type: ignore[arg-type]
        for row in verdict_list(proposal)
    ]
    standing = standing_of(opinions, content_hash, needed, proposal.author_id)
    reasons = [*_obstacles(proposal, is_admin), *standing.missing()]
    return Stand(proposal, content_hash, standing, tuple(reasons))


def _obstacles(proposal: Proposal, is_admin: bool) -> list[str]:
    """What stands in the way besides approvals."""
    draft = proposal.draft
    latest = PromptVersion.objects.filter(prompt=draft.prompt_id, labels__name=LATEST).first()
    out = []
    if draft.status != Draft.Status.OPEN:
        out.append("The draft is closed")
    if latest is not None and latest.pk != draft.base_id:
        out.append(f"Version {latest.number} is newer than what the draft started from; merge it")
    if proposal.label in protected_labels(draft.project_id) and not is_admin:
        out.append(f"Only an admin moves the label {proposal.label}")
    return out


@transaction.atomic
def proposal_create(*, draft: Draft, author: Author, message: str, label: str) -> Proposal:
    """Propose the draft for a label (or for none); raises ConflictError where it is already."""
    if draft.status != Draft.Status.OPEN:
        raise ConflictError("The draft is closed")
    now = clock.now()
    try:
        with transaction.atomic():
            made = Proposal.objects.create(
                draft=draft,
                label=label_clean(label) if label else "",
                message=_message(message),
                author=author.user,
                author_name=author.name,
                created_at=now,
                updated_at=now,
            )
    except IntegrityError:
        raise ConflictError("The draft is proposed already") from None
    draft_changed(draft)
    return made


def _message(message: str) -> str:
    if len(message) > MESSAGE_LEN:
        raise InvalidError(
            f"message: {len(message)} characters, at most {MESSAGE_LEN}", field="message"
        )
    return message.strip()


@transaction.atomic
def proposal_update(
    *, proposal: Proposal, message: str | None = None, label: str | None = None
) -> None:
    """Change what it says or where it goes; approvals stay, another label may need more."""
    if message is not None:
        proposal.message = _message(message)
    if label is not None:
        proposal.label = label_clean(label) if label else ""
    proposal.updated_at = clock.now()
    proposal.save()
    draft_changed(proposal.draft)


@transaction.atomic
def proposal_withdraw(*, proposal: Proposal) -> None:
    """End it; draft and comments stay."""
    proposal.status = Proposal.Status.WITHDRAWN
    proposal.updated_at = clock.now()
    proposal.save()
    draft_changed(proposal.draft)


@transaction.atomic
def verdict_give(
    *, proposal: Proposal, user: User, name: str, kind: str, content_hash: str, note: str = ""
) -> Verdict:
    """Approve what the draft says, or ask for changes of it.

    content_hash: of what the person read; raises ConflictError where that is not what the draft
    says now, ForbiddenError for the proposal's own author.
    """
    if proposal.author_id == user.pk:
        raise ForbiddenError("Somebody else than the author decides on a proposal")
    if content_hash != proposal_stand(proposal).hash:
        raise ConflictError(
            "content_hash: the draft has changed since; read it again", field="content_hash"
        )
    if Verdict.objects.filter(proposal=proposal).count() >= MOST_VERDICTS:
        raise ConflictError(f"A proposal has at most {MOST_VERDICTS} verdicts")
    made = Verdict.objects.create(
        proposal=proposal,
        user=user,
        user_name=name,
        kind=kind,
        content_hash=content_hash,
        note=_message(note),
        created_at=clock.now(),
    )
    draft_changed(proposal.draft)
    return made


@transaction.atomic
def proposal_publish(*, proposal: Proposal, author: Author) -> PromptVersion:
    """Make a version of the draft, note who approved it, and put the label on it.

    Raises ForbiddenError with what is missing; nothing is made then.
    """
    draft = proposal.draft
    Draft.objects.select_for_update(no_key=True).defer("snapshot").get(pk=draft.pk)
    stand = proposal_stand(proposal, is_admin=author.is_admin)
    if stand.reasons:
        raise ForbiddenError(f"proposal: {'; '.join(stand.reasons)}", field="label")
    version = draft_publish(draft=draft, author=author, message=proposal.message)
    approvals = stand.standing.approvals
    users = User.objects.in_bulk([one.user_id for one in approvals if one.user_id is not None])
    people = [(users.get(one.user_id or 0), one.name) for one in approvals]
    version_approve(version=version, people=people)
    if proposal.label:
        labels_add(
            prompt=draft.prompt, author=author, version=version.number, labels=[proposal.label]
        )
    proposal.status = Proposal.Status.PUBLISHED
    proposal.version = version
    proposal.updated_at = clock.now()
    proposal.save()
    draft_changed(draft)
    return version
