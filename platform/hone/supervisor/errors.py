"""The one exception of the supervisor: a person can act on its text."""


class StartError(Exception):
    """Hone cannot start; the message says why and what to do, in plain words."""
