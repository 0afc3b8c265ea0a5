import uuid

from django.db import models
from django.db.models import Q

from hone.accounts.models import Project, User
from hone.prompts.models import Prompt, PromptVersion


class Draft(models.Model):
    """A prompt being written: a shared document whose truth is its log.

    `snapshot` is the document's state after update `snapshot_seq`; the updates after it stand in
    DraftUpdate, numbered without gaps up to `seq`.
    """

    class Status(models.TextChoices):
        OPEN = "open"
        CLOSED = "closed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="drafts")
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="drafts")
    name = models.CharField(max_length=80)
    base = models.ForeignKey(PromptVersion, on_delete=models.SET_NULL, null=True, related_name="+")
    status = models.CharField(max_length=6, choices=Status, default=Status.OPEN)
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=254)
    seq = models.BigIntegerField(default=0)
    snapshot_seq = models.BigIntegerField(default=0)
    snapshot = models.BinaryField()
    num_bytes = models.BigIntegerField(default=0)  # of the snapshot and the updates after it
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["prompt", "name"], condition=Q(status="open"), name="collab_draft_name"
            ),
            models.CheckConstraint(
                condition=Q(snapshot_seq__lte=models.F("seq")), name="collab_draft_snapshot"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prompt_id}/{self.name}"


class DraftUpdate(models.Model):
    """One accepted edit, as Yjs encodes it. The log is written before anybody sees the edit.

    The database checks no references: whoever writes holds the draft's row, and two look-ups for
    each keystroke would be half of its cost.
    """

    draft = models.ForeignKey(
        Draft,
        on_delete=models.CASCADE,
        related_name="updates",
        db_index=False,
        db_constraint=False,
    )
    seq = models.BigIntegerField()
    update = models.BinaryField()
    user = models.ForeignKey(
        User,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "seq"], name="collab_update_seq"),
        ]

    def __str__(self) -> str:
        return f"{self.draft_id}#{self.seq}"


class DraftWriter(models.Model):
    """Whose a Yjs client is: every letter of a document names the client that typed it.

    Taken from the log before it is let go; whoever sent a client's first update is its person.
    """

    draft = models.ForeignKey(
        Draft, on_delete=models.CASCADE, related_name="writers", db_index=False
    )
    client = models.BigIntegerField()
    user = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, related_name="+", db_constraint=False
    )
    name = models.CharField(max_length=254)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "client"], name="collab_writer_client"),
        ]

    def __str__(self) -> str:
        return f"{self.draft_id}: {self.client} is {self.name}"


class DraftMoment(models.Model):
    """The document as it stood at a number, kept for the history, and who wrote since."""

    draft = models.ForeignKey(
        Draft, on_delete=models.CASCADE, related_name="moments", db_index=False
    )
    seq = models.BigIntegerField()
    state = models.BinaryField()
    people = models.JSONField(default=list)  # names, in the order of their first edit
    version = models.ForeignKey(
        PromptVersion, on_delete=models.SET_NULL, null=True, related_name="+"
    )  # published from it
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "seq"], name="collab_moment_seq"),
        ]

    def __str__(self) -> str:
        return f"{self.draft_id}@{self.seq}"


class DraftMerge(models.Model):
    """What was merged into a draft: the next merge of the two starts from what it said then."""

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="merges")
    source = models.ForeignKey(Draft, on_delete=models.SET_NULL, null=True, related_name="+")
    version = models.ForeignKey(
        PromptVersion, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    content = models.JSONField()  # what the source said: type, prompt, config, variables
    seq = models.BigIntegerField()  # of the draft, after it
    author_name = models.CharField(max_length=254)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.draft_id}@{self.seq} from {self.source_id or self.version_id}"


class DraftComment(models.Model):
    """Something said of a draft, of a range of its text, or in reply to another comment.

    `start` and `end` are relative positions as Yjs encodes them: they move with the text. The
    quote says what the range held, for when that is gone.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="comments")
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="replies")
    start = models.BinaryField(null=True)
    end = models.BinaryField(null=True)
    quote = models.TextField(blank=True)
    body = models.TextField()
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=254)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.CharField(max_length=254, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(start__isnull=True, end__isnull=True)
                | Q(start__isnull=False, end__isnull=False, parent__isnull=True),
                name="collab_comment_range",
            ),
        ]

    def __str__(self) -> str:
        return self.body[:60]


class Proposal(models.Model):
    """A draft that somebody wants published, to a label or as a version alone."""

    class Status(models.TextChoices):
        OPEN = "open"
        PUBLISHED = "published"
        WITHDRAWN = "withdrawn"

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="proposals")
    label = models.CharField(max_length=63, blank=True)
    message = models.TextField(blank=True)
    status = models.CharField(max_length=9, choices=Status, default=Status.OPEN)
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=254)
    version = models.ForeignKey(
        PromptVersion, on_delete=models.SET_NULL, null=True, related_name="+"
    )  # what came of it
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["draft"], condition=Q(status="open"), name="collab_proposal_open"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.draft_id}: {self.message[:40]}"


class Verdict(models.Model):
    """What somebody thinks of a proposal, of one content of it: later edits make it stale."""

    class Kind(models.TextChoices):
        APPROVED = "approved"
        CHANGES = "changes"

    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="verdicts")
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    user_name = models.CharField(max_length=254)
    kind = models.CharField(max_length=8, choices=Kind)
    content_hash = models.CharField(max_length=64)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user_name}: {self.kind}"
