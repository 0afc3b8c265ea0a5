"""A project's masks, set by its admins. Every change is an event that says who made it."""

import uuid
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Max

from hone.accounts.selectors import Access
from hone.common import clock, events
from hone.common.errors import InvalidError, NotFoundError
from hone.traces.core.masks import MAX_REPLACEMENT_LEN, Masks, PatternError, rule_of
from hone.traces.models import MaskRule
from hone.traces.services.intake import intake_forget

log = structlog.get_logger(__name__)
MAX_RULES: Final = 50  # of a project: each one looks through every text
CHANGED: Final = "masks.changed"
REPLACEMENT: Final = "[masked]"


@transaction.atomic
def mask_create(
    *,
    access: Access,
    name: str,
    pattern: str,
    replacement: str = REPLACEMENT,
    is_enabled: bool = True,
) -> MaskRule:
    """A rule for all spans that are stored from now on, after the others. Raises InvalidError."""
    _check(pattern, replacement)
    rules = MaskRule.objects.select_for_update().filter(project=access.project)
    if len(rules) >= MAX_RULES:
        raise InvalidError(f"A project has at most {MAX_RULES} masks")
    last = MaskRule.objects.filter(project=access.project).aggregate(last=Max("position"))["last"]
    now = clock.now()
    rule = MaskRule.objects.create(
        project=access.project,
        key=uuid.uuid4().hex,
        name=name,
        pattern=pattern,
        replacement=replacement,
        position=(last or 0) + 1,
        is_enabled=is_enabled,
        author=access.user,
        author_name=access.author_name,
        created_at=now,
        updated_at=now,
    )
    _tell(rule, access, "created")
    return rule


@transaction.atomic
def mask_update(
    *,
    access: Access,
    key: str,
    name: str | None = None,
    pattern: str | None = None,
    replacement: str | None = None,
    is_enabled: bool | None = None,
) -> MaskRule:
    """Change what is given; raises NotFoundError, InvalidError."""
    rule = _rule(access, key)
    rule.name = rule.name if name is None else name
    rule.pattern = rule.pattern if pattern is None else pattern
    rule.replacement = rule.replacement if replacement is None else replacement
    rule.is_enabled = rule.is_enabled if is_enabled is None else is_enabled
    _check(rule.pattern, rule.replacement)
    rule.author, rule.author_name = access.user, access.author_name
    rule.updated_at = clock.now()
    rule.save()
    _tell(rule, access, "updated")
    return rule


@transaction.atomic
def mask_delete(*, access: Access, key: str) -> None:
    """Take a rule back; what it masked stays masked. Raises NotFoundError."""
    rule = _rule(access, key)
    _tell(rule, access, "deleted")
    rule.delete()


def mask_tested(*, pattern: str, replacement: str, text: str) -> tuple[str, int]:
    """What a rule alone would make of a payload, and how often it finds something in it.

    Stores nothing; raises InvalidError.
    """
    _check(pattern, replacement)
    rule = rule_of(pattern, replacement)
    masked = Masks(project_id=0, rules=(rule,)).payload(text)
    return masked or "", sum(1 for _ in rule.pattern.finditer(text))


def _rule(access: Access, key: str) -> MaskRule:
    rule = MaskRule.objects.select_for_update().filter(project=access.project, key=key).first()
    if rule is None:
        raise NotFoundError("There is no such mask")
    return rule


def _check(pattern: str, replacement: str) -> None:
    if len(replacement) > MAX_REPLACEMENT_LEN or "\x00" in replacement:
        raise InvalidError(
            f"replacement: want at most {MAX_REPLACEMENT_LEN} characters", field="replacement"
        )
    try:
        rule_of(pattern, replacement)
    except PatternError as error:
        field = str(error).partition(":")[0]
        raise InvalidError(str(error), field=field) from None


def _tell(rule: MaskRule, access: Access, what: str) -> None:
    project_id = rule.project_id
    intake_forget(project_id)  # in this transaction at once, elsewhere after it
    transaction.on_commit(lambda: intake_forget(project_id))
    facts = {"id": rule.key, "name": rule.name, "by": access.author_name, "change": what}
    # The pattern goes into the log alone: everybody in the project hears the event.
    log.info("mask_changed", project=project_id, pattern=rule.pattern, **facts)
    events.publish(project_id, CHANGED, facts, durable=True)
