"""A word to every process: a channel of Redis that threads and event loops hear alike."""

import threading
import time
from collections.abc import Callable

import structlog
from django.conf import settings
from redis import Redis

from hone.common import broker

log = structlog.get_logger(__name__)
RETRY_S = 1.0


class Broadcast:
    """Calls `hear(word)` for every word told by any process, in a daemon thread.

    Words may be lost: what hears them needs a bound of its own. `missed` is called each time the
    channel is joined, for what was told before.
    """

    def __init__(
        self, name: str, hear: Callable[[str], None], missed: Callable[[], None] | None = None
    ) -> None:
        self._name, self._hear, self._missed = name, hear, missed
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def tell(self, word: str) -> None:
        """Hear the word here at once, and elsewhere within milliseconds."""
        self._hear(word)
        try:
            broker.client().publish(self.channel(), word)
        except broker.ERRORS as error:
            log.warning("broadcast_not_sent", channel=self._name, error=type(error).__name__)

    def listen(self) -> None:
        """Make sure that this process hears; the first call starts the thread."""
        thread = self._thread
        if thread is not None and thread.is_alive():
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def channel(self) -> str:
        return broker.key(self._name)

    def _run(self) -> None:
        while True:
            try:
                self._read()
            except broker.ERRORS:
                time.sleep(RETRY_S)

    def _read(self) -> None:
        client = Redis.from_url(
            settings.REDIS_URL, socket_connect_timeout=broker.TIMEOUT_S, health_check_interval=20
        )
        with client, client.pubsub() as pubsub:  # type: ignore[no-untyped-call]
            pubsub.subscribe(self.channel())
            for message in pubsub.listen():
                if message["type"] == "message":
                    self._hear(message["data"].decode())
                elif message["type"] == "subscribe" and self._missed is not None:
                    self._missed()
