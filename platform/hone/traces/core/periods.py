"""Which stretch of time a partition holds. Days are counted from 1970, in UTC."""

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

DAY_US: Final = 86_400_000_000
_MONDAY: Final = 4  # 1970-01-05
_EPOCH: Final = date(1970, 1, 1)


class Period(NamedTuple):
    """Days from `start` on, before `end`."""

    start: int
    end: int

    @property
    def suffix(self) -> str:
        """How the partition of this period is named: `p20261123_20261130`."""
        return f"p{_date(self.start):%Y%m%d}_{_date(self.end):%Y%m%d}"

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        return _instant(self.start), _instant(self.end)


def period_from(suffix: str) -> Period | None:
    """The period that a partition's name tells; None for a name that is none of ours."""
    try:
        start, end = (
            datetime.strptime(part, "%Y%m%d").replace(tzinfo=UTC).date()
            for part in suffix.removeprefix("p").split("_")
        )
    except ValueError:
        return None
    return Period((start - _EPOCH).days, (end - _EPOCH).days)


def period_for(day: int, days: int, existing: Collection[Period]) -> Period:
    """The period of `days` days, counted from a Monday, that holds `day`, less what exists.

    `day` must not be in an existing period.
    """
    start = day - (day - _MONDAY) % days
    before = max((p.end for p in existing if p.end <= day), default=start)
    after = min((p.start for p in existing if p.start > day), default=start + days)
    return Period(max(start, before), min(start + days, after))


def _date(day: int) -> date:
    return _EPOCH + timedelta(days=day)


def _instant(day: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)
