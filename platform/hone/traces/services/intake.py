"""What a project wants done to its spans on their way in: prices and masks, kept for a moment."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

import re2
import structlog
from django.conf import settings
from django.db.models import F
from django.utils.module_loading import import_string

from hone.common.database import database_call
from hone.common.errors import UnavailableError
from hone.traces.core.fit import fitted
from hone.traces.core.masks import Hook, Masks, masked, rules_of
from hone.traces.core.prices import Book, Condition, OwnPrice, Period, Tier, units_of
from hone.traces.core.span import Span
from hone.traces.models import MaskRule, ModelPrice

log = structlog.get_logger(__name__)
FRESH_S: Final = 2.0  # after so long a change of another process is in force here


@dataclass(frozen=True, slots=True)
class Intake:
    """Prices and masks of one project."""

    project_id: int
    masks: Masks
    book: Book
    source: tuple[object, ...]  # the rows it was made of

    def taken(self, span: Span) -> Span:
        """The span as it is stored."""
        priced = self.book.priced(span)
        return fitted(masked(priced, self.masks) if self.masks else priced)


_kept: dict[int, tuple[float, Intake]] = {}  # project id -> when it was read


def intake_for(project_id: int) -> Intake:
    """The project's intake, at most FRESH_S old; raises OperationalError when it is to be read."""
    return _fresh(project_id) or intake_read(project_id)


async def intake_for_async(project_id: int) -> Intake:
    """As `intake_for`, from a raw ASGI route."""
    found = _fresh(project_id)
    return found if found is not None else await database_call(intake_read, project_id)


def _fresh(project_id: int) -> Intake | None:
    found = _kept.get(project_id)
    return found[1] if found and time.monotonic() - found[0] < FRESH_S else None


def intake_forget(project_id: int | None = None) -> None:
    """Read again next time: this project, or all."""
    if project_id is None:
        _kept.clear()
    else:
        _kept.pop(project_id, None)


def intake_read(project_id: int) -> Intake:
    """The project's intake as the database has it; one that is as before keeps what it learned."""
    now = time.monotonic()
    newest_first = (F("starts_at").desc(nulls_last=True), "-id")
    prices = ModelPrice.objects.filter(project_id=project_id).order_by(*newest_first)
    rules = MaskRule.objects.filter(project_id=project_id, is_enabled=True)
    priced = tuple(prices.values_list("pattern", "prices", "tiers", "starts_at"))
    found = tuple(rules.order_by("position", "id").values_list("pattern", "replacement"))
    hook = settings.HONE_TRACES_MASK_HOOK
    source = (repr(priced), found, hook)
    old = _kept.get(project_id)
    if old is not None and old[1].source == source:
        intake = old[1]
    else:
        masks = Masks(project_id, rules_of(found), _hook(hook) if hook else None)
        intake = Intake(project_id, masks, Book([_own(*row) for row in priced]), source)
    _kept[project_id] = (now, intake)
    return intake


@lru_cache(maxsize=8)
def _hook(path: str) -> Hook:
    """The function at `package.module.name`; raises UnavailableError where there is none.

    What cannot be masked is not taken: senders try again until the setting is right.
    """
    try:
        hook: Hook = import_string(path)
    except ImportError as error:
        log.error("mask_hook_missing", hook=path, error=str(error))
        raise UnavailableError("The masks of this installation cannot be applied") from None
    return hook


def _own(pattern: str, prices: Mapping[str, str], tiers: Iterable[Any], starts_at: Any) -> OwnPrice:
    since_ns = int(starts_at.timestamp()) * 10**9 if starts_at else 0
    period = Period(since_ns, units_from(prices), tuple(tier_of(tier) for tier in tiers))
    return OwnPrice(re2.compile(pattern), period)


def units_from(prices: Mapping[str, str]) -> dict[str, int]:
    """Prices as decimal text in units; raises ValueError."""
    return {part: units_of(Decimal(price)) for part, price in prices.items()}


def tier_of(given: Mapping[str, Any]) -> Tier:
    """A stored tier; raises ValueError, re2.error."""
    conditions = [
        Condition(_finds(c["usage_pattern"]), c["operator"], c["value"])
        for c in given["conditions"]
    ]
    return Tier(tuple(conditions), units_from(given["prices"]))


def _finds(pattern: str) -> Any:
    compiled = re2.compile(pattern)
    return lambda part: compiled.search(part) is not None
