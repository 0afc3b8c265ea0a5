"""The connection over which this process's edits go into their logs.

It belongs to the event loop: a thread would hand the interpreter's lock back and forth with a loop
that is busy sending, up to 5 ms each time, several times for each commit.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from django.conf import settings
from django.db import connections

from hone.collab.services import Edit, Refused, edits_append
from hone.collab.services.log import APPEND, append_numbers, append_values
from hone.common.database import database_call

IDLE_S: Final = 30.0  # an idle server process costs memory
CONNECT_S: Final = 4
ANSWER_S: Final = 10.0


@dataclass(slots=True)
class Ledger:
    """Writes edits, one statement a group."""

    connection: psycopg.AsyncConnection[tuple[Any, ...]] | None = None
    closing: asyncio.TimerHandle | None = None

    async def append(self, edits: Sequence[Edit]) -> list[int | Refused]:
        """As `edits_append`; raises psycopg.Error."""
        if settings.HONE_DATABASE_THREADS == 0:  # tests whose transaction nobody else sees
            return await database_call(edits_append, edits)
        if self.closing is not None:
            self.closing.cancel()
        try:
            async with asyncio.timeout(ANSWER_S):
                connection = await self._connected()
                cursor = await connection.execute(APPEND, append_values(edits))
                rows = await cursor.fetchall()
        except BaseException as error:
            await self.close()
            if isinstance(error, TimeoutError):
                raise psycopg.OperationalError("the database did not answer") from None
            raise
        loop = asyncio.get_running_loop()
        self.closing = loop.call_later(IDLE_S, lambda: loop.create_task(self.close()))
        return append_numbers(edits, rows)

    async def _connected(self) -> psycopg.AsyncConnection[tuple[Any, ...]]:
        if self.connection is None or self.connection.closed:
            known = connections["default"].get_connection_params()
            for name in ("cursor_factory", "context"):  # Django's own, for its own cursors
                known.pop(name, None)
            known.update(autocommit=True, prepare_threshold=1, connect_timeout=CONNECT_S)
            self.connection = await psycopg.AsyncConnection.connect(**known)
        return self.connection

    async def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                await connection.close()
