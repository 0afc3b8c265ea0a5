"""The REST edge of accounts, and what other apps' edges use to authorize (`access`)."""
