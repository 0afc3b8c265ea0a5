"""Bodies of the endpoints of merges, comments and proposals."""

from rest_framework import serializers

from hone.common.schema import Body

KINDS = ["same", "mine", "theirs", "both", "conflict"]


class MergeStretch(Body):
    """Texts of a kind other than `same` and `both` are given for every side."""

    kind = serializers.ChoiceField(choices=KINDS)
    text = serializers.CharField(help_text="What becomes of it; of a conflict, mine")
    mine = serializers.CharField()
    theirs = serializers.CharField()
    conflict = serializers.CharField(allow_null=True)


class MergeMessage(Body):
    state = serializers.ChoiceField(choices=["same", "edited", "inserted", "conflict"])
    role = serializers.CharField()
    content = MergeStretch(many=True)
    conflict = serializers.CharField(allow_null=True, help_text="Whether it is to stay")


class MergeSetting(Body):
    path = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    mine = serializers.JSONField(allow_null=True)
    theirs = serializers.JSONField(allow_null=True)
    conflict = serializers.CharField(allow_null=True)


class HeldValue(Body):
    value = serializers.JSONField()


class MergeConflict(Body):
    """A side is null where it has nothing; an order is a list of places in `messages`."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=["text", "value", "presence", "order"])
    where = serializers.CharField()
    base = HeldValue(allow_null=True)
    mine = HeldValue(allow_null=True)
    theirs = HeldValue(allow_null=True)


class MergeBody(Body):
    seq = serializers.IntegerField()
    source = serializers.CharField()  # type: ignore[assignment]
    base_version = serializers.IntegerField(allow_null=True)
    type = serializers.ChoiceField(choices=["text", "chat"])
    is_changed = serializers.BooleanField(help_text="Whether it changes anything of the draft")
    text = MergeStretch(many=True)
    messages = MergeMessage(many=True)
    removed = MergeMessage(many=True)
    settings = MergeSetting(many=True)
    conflicts = MergeConflict(many=True)


class MergeChoice(Body):
    take = serializers.ChoiceField(choices=["mine", "theirs", "both", "edit"])
    value = serializers.JSONField(required=False, allow_null=True)


class MergeApply(Body):
    draft = serializers.UUIDField(required=False)
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)
    choices = serializers.DictField(child=MergeChoice(), required=False)


class MergeApplied(Body):
    seq = serializers.IntegerField()
    base_version = serializers.IntegerField(allow_null=True)
    update = serializers.CharField(  # type: ignore[assignment]
        help_text="The edit of the document, as Yjs encodes it, in base64: one step to undo"
    )


class DraftUpdate(Body):
    name = serializers.CharField(max_length=80, required=False)
    status = serializers.ChoiceField(choices=["open", "closed"], required=False)


class DraftCommentBody(Body):
    id = serializers.UUIDField()
    parent = serializers.UUIDField(allow_null=True)  # type: ignore[assignment]
    start = serializers.CharField(allow_null=True, help_text="A relative position of Yjs, base64")
    end = serializers.CharField(allow_null=True)
    quote = serializers.CharField()
    body = serializers.CharField()
    author = serializers.CharField()
    is_own = serializers.BooleanField()
    resolved_at = serializers.DateTimeField(allow_null=True)
    resolved_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class DraftCommentPage(Body):
    data = DraftCommentBody(many=True)  # type: ignore[assignment]


class DraftCommentCreate(Body):
    body = serializers.CharField(max_length=10_000, trim_whitespace=False)
    parent = serializers.UUIDField(required=False)  # type: ignore[assignment]
    start = serializers.CharField(max_length=400, required=False)
    end = serializers.CharField(max_length=400, required=False)
    quote = serializers.CharField(
        max_length=2000, required=False, allow_blank=True, trim_whitespace=False
    )


class DraftCommentUpdate(Body):
    body = serializers.CharField(max_length=10_000, required=False, trim_whitespace=False)
    is_resolved = serializers.BooleanField(required=False)


class VerdictBody(Body):
    author = serializers.CharField()
    kind = serializers.ChoiceField(choices=["approved", "changes"])
    note = serializers.CharField()
    is_stale = serializers.BooleanField(help_text="The draft was edited since")
    created_at = serializers.DateTimeField()


class ProposalBody(Body):
    label = serializers.CharField(  # type: ignore[assignment]
        help_text="Empty: a version without a label"
    )
    message = serializers.CharField()
    status = serializers.ChoiceField(choices=["open", "published", "withdrawn"])
    author = serializers.CharField()
    is_own = serializers.BooleanField()
    version = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class ProposalStand(ProposalBody):
    content_hash = serializers.CharField(help_text="Of what the draft says now")
    num_needed = serializers.IntegerField()
    num_approvals = serializers.IntegerField()
    verdicts = VerdictBody(many=True)
    reasons = serializers.ListField(
        child=serializers.CharField(), help_text="Why it cannot be published; empty where it can"
    )


class ProposalPage(Body):
    data = ProposalBody(many=True)  # type: ignore[assignment]


class ProposalCreate(Body):
    message = serializers.CharField(required=False, allow_blank=True)
    label = serializers.CharField(  # type: ignore[assignment]
        max_length=63, required=False, allow_blank=True
    )


class VerdictCreate(Body):
    kind = serializers.ChoiceField(choices=["approved", "changes"])
    content_hash = serializers.CharField(max_length=64)
    note = serializers.CharField(required=False, allow_blank=True)


class ReviewPolicy(Body):
    labels = serializers.DictField(
        child=serializers.IntegerField(min_value=1, max_value=10),
        help_text="Label to the number of approvals that it needs",
    )


class GraphVersion(Body):
    version = serializers.IntegerField()
    parent = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    labels = serializers.ListField(child=serializers.CharField())
    author = serializers.CharField()
    message = serializers.CharField()
    approvals = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()


class GraphDraft(Body):
    id = serializers.UUIDField()
    name = serializers.CharField()
    base_version = serializers.IntegerField(allow_null=True)
    status = serializers.ChoiceField(choices=["open", "closed"])
    people = serializers.ListField(child=serializers.CharField())
    is_proposed = serializers.BooleanField()
    updated_at = serializers.DateTimeField()


class PromptGraph(Body):
    versions = GraphVersion(many=True)
    drafts = GraphDraft(many=True)
