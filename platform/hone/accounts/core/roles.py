"""Who may do what: viewer reads, member writes prompts and runs, admin sets up, owner all."""

from enum import StrEnum


class Role(StrEnum):
    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """0 for a viewer up to 3 for an owner."""
        return list(Role).index(self)

    def covers(self, needed: "Role") -> bool:
        """Whether somebody of this role may do what `needed` may."""
        return self.rank >= needed.rank

    def may_manage(self, other: "Role") -> bool:
        """Whether this role may give, change or take the role `other`."""
        return self is Role.OWNER or (self is Role.ADMIN and other is not Role.OWNER)
