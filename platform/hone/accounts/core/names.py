"""Slugs and emails in their one form."""

import re
import unicodedata

SLUG_LEN = 50
SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?\Z")
EMAIL = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f]{1,190}\Z")


def slug_of(name: str) -> str:
    """A slug from any name: "Große Übung!" gives "grosse-ubung".

    "project" where nothing is left.
    """
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:SLUG_LEN].strip("-")
    return words or "project"


def slug_numbered(slug: str, number: int) -> str:
    """`slug` with a number behind it, within the length of a slug."""
    end = f"-{number}"
    return slug[: SLUG_LEN - len(end)].rstrip("-") + end


def email_of(text: str) -> str:
    """The form in which emails are stored and compared."""
    return unicodedata.normalize("NFKC", text).strip().lower()
