"""The REST edge of drafts."""
