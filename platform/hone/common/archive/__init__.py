"""Backups: one zip with a file a table, which any PostgreSQL of version 15 or newer takes.

The zip holds `manifest.json` (written last: an archive without it is incomplete), a
`tables/NAME.copy` for each table (PostgreSQL's COPY text) and, if wanted, the secret key. The
schema is not in it: restoring brings an empty database to the very migrations that the archive
was written under, loads the rows, and migrates on from there. So an archive outlives both the
server's major version and Hone's own.
"""

from hone.common.archive.read import restore
from hone.common.archive.write import backup

__all__ = ["backup", "restore"]
