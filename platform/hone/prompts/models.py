from django.db import models
from django.db.models import Q

from hone.accounts.models import Project, User


class Prompt(models.Model):
    """A named line of versions; `/` in the name makes folders."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="prompts")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    tags = models.JSONField(default=list)  # list of text, sorted
    latest_number = models.IntegerField(default=0)
    archived_at = models.DateTimeField(null=True)  # out of the lists and read-only, still served
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="prompts_prompt_name"),
        ]

    def __str__(self) -> str:
        return self.name


class PromptVersion(models.Model):
    """One state of a prompt. Immutable: a trigger refuses changes of its content.

    `parent` is the version it was made from, so that versions form a tree; branches come later.
    """

    class Type(models.TextChoices):
        TEXT = "text"
        CHAT = "chat"

    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="versions")
    number = models.IntegerField()
    type = models.CharField(max_length=4, choices=Type)
    content = models.JSONField()  # text, or a list of messages
    config = models.JSONField(default=dict)
    variables = models.JSONField(default=list)  # names in content, in order
    inputs = models.JSONField(default=dict)  # what is declared of variables: core.declarations
    content_hash = models.CharField(max_length=64)
    message = models.TextField(blank=True)
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="+")
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=254)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prompt", "number"], name="prompts_version_number"),
            # The target of the label's foreign key, which holds label and version to one prompt.
            models.UniqueConstraint(fields=["id", "prompt"], name="prompts_version_of_prompt"),
            models.CheckConstraint(condition=Q(number__gte=1), name="prompts_version_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.prompt_id}@{self.number}"


class Label(models.Model):
    """A name for one version of a prompt, which can be moved; `latest` moves by itself.

    A split (core.split) has `arms`, of which `version` is the main one, and a `salt`.
    """

    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="labels")
    name = models.CharField(max_length=63)
    version = models.ForeignKey(PromptVersion, on_delete=models.CASCADE, related_name="labels")
    salt = models.CharField(max_length=32, blank=True)
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prompt", "name"], name="prompts_label_name"),
        ]

    def __str__(self) -> str:
        return self.name


class LabelArm(models.Model):
    """One of several versions that a label stands for, with its weight."""

    label = models.ForeignKey(Label, on_delete=models.CASCADE, related_name="arms")
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="+")
    version = models.ForeignKey(PromptVersion, on_delete=models.CASCADE, related_name="+")
    weight = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["label", "version"], name="prompts_arm_once"),
            models.CheckConstraint(
                condition=Q(weight__gte=1, weight__lte=10_000), name="prompts_arm_weight"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.label_id}: {self.version_id} x {self.weight}"


class ProtectedLabel(models.Model):
    """A label that only admins of the project move, on every prompt."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=63)
    author_name = models.CharField(max_length=254)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="prompts_protected_once"),
        ]

    def __str__(self) -> str:
        return self.name


class Change(models.Model):
    """How many times anything of a project's prompts changed; triggers count.

    `epoch` is drawn when the counting begins, so that it is another one in a restored database.
    """

    project_id = models.BigIntegerField(primary_key=True)
    count = models.BigIntegerField()
    epoch = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.project_id}: {self.count}"


class ChangedName(models.Model):
    """The project's count at the latest change of what a prompt's name stands for.

    The name stands here as its mark (`core.served_cache.mark_of`), also after the prompt is gone.
    """

    project_id = models.BigIntegerField()
    mark = models.BigIntegerField()
    count = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project_id", "mark"], name="prompts_changed_once"),
        ]
        indexes = [models.Index(fields=["project_id", "count"], name="prompts_changed_count")]

    def __str__(self) -> str:
        return f"{self.project_id}: {self.mark} at {self.count}"


class ReviewedLabel(models.Model):
    """A label that goes only to versions whose content enough people have approved."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=63)
    num_approvals = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="prompts_reviewed_once"),
            models.CheckConstraint(
                condition=Q(num_approvals__gte=1, num_approvals__lte=10),
                name="prompts_reviewed_num",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.num_approvals}"


class VersionApproval(models.Model):
    """Somebody approved what a version says."""

    version = models.ForeignKey(PromptVersion, on_delete=models.CASCADE, related_name="approvals")
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    user_name = models.CharField(max_length=254)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "user"], name="prompts_approval_once"),
        ]

    def __str__(self) -> str:
        return f"{self.version_id}: {self.user_name}"
