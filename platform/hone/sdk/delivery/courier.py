"""The one thread that sends: batches, retries, and a report of what was lost once a minute."""

import os
import random
import threading
import time
import weakref
from dataclasses import dataclass
from queue import Empty
from typing import Final

from hone.sdk.delivery.letters import Letter, letters_of
from hone.sdk.delivery.masking import masking
from hone.sdk.delivery.outbox import Limits, Outbox, Parcel
from hone.sdk.delivery.transport import Reply, Transport
from hone.sdk.options import Options, log

REPORT_INTERVAL_S: Final = 60.0
BACKOFF_S: Final = 0.5
MAX_BACKOFF_S: Final = 30.0
MAX_FAILURES: Final = 4  # retries of what the server fails at: it may be this very batch


@dataclass(frozen=True, slots=True)
class Stats:
    """What became of spans and scores since `init`."""

    sent: int  # acknowledged by the server
    dropped: int  # no room in the queue, or the process ended first
    refused: int  # the server will not have them
    waiting: int


class Courier:
    """Takes spans and scores from any thread and delivers them from its own.

    The thread starts with the first parcel, in each process anew: a forked child inherits
    neither the thread nor what waits, which its parent sends.
    """

    def __init__(self, options: Options, transport: Transport) -> None:
        self.options = options
        self._transport = transport
        self._mask = masking(options.mask)
        self._reset()
        itself = weakref.ref(self)

        def forked() -> None:
            courier = itself()
            if courier is not None:
                courier._transport.forked()
                courier._reset()

        os.register_at_fork(after_in_child=forked)

    def _reset(self) -> None:
        options = self.options
        limits = Limits(options.max_queue_spans, options.max_queue_bytes)
        self._outbox = Outbox(limits, self._start)
        self._settled = threading.Condition()
        self._closed_by: float | None = None  # moment at which trying ends
        self._closing = threading.Event()
        self._hurried = 0  # callers of flush
        self._num_settled = self._num_sent = self._num_lost = self._num_refused = 0
        self._reported: tuple[int, int] = (0, 0)
        self._reported_at = time.monotonic() - REPORT_INTERVAL_S
        self._thread: threading.Thread | None = None
        self._starting = threading.RLock()

    def put(self, content: object, num_bytes: int) -> bool:
        """Queue one span or score; False where there is no room or the courier is closed."""
        if self._closing.is_set():
            self._num_lost += 1
            return False
        return self._outbox.put(content, num_bytes)

    def stats(self) -> Stats:
        """Figures of this process."""
        return Stats(
            sent=self._num_sent,
            dropped=self._outbox.num_refused + self._num_lost,
            refused=self._num_refused,
            waiting=self._outbox.num_put - self._num_settled,
        )

    def flush(self, timeout_s: float) -> bool:
        """Wait until everything queued so far is settled; False where that takes longer."""
        wanted = self._outbox.num_put
        with self._settled:
            self._hurried += 1
            try:
                self._outbox.signals.put(None)
                return self._settled.wait_for(lambda: self._num_settled >= wanted, timeout_s)
            finally:
                self._hurried -= 1

    def close(self, timeout_s: float) -> bool:
        """Send what waits within the limit, then end the thread; False where something was left."""
        self._closed_by = time.monotonic() + timeout_s
        self._closing.set()
        self._outbox.signals.put(None)
        thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(timeout_s + 0.2)
        elif len(self._outbox):
            self._drain()  # no thread could be started: the interpreter is ending
        left = self._outbox.num_put - self._num_settled
        if left:
            self._num_lost += left
        self._report(at_once=True)
        return left == 0

    def _start(self) -> None:
        with self._starting:
            if self._thread is not None and self._thread.is_alive():
                return
            thread = threading.Thread(target=self._run, name="hone-sdk", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return
            self._thread = thread

    def _run(self) -> None:
        while not self._closing.is_set():
            self._wait()
            try:
                self._drain()
            except Exception:
                log.exception("hone: the sending thread goes on after an error of its own")
        self._transport.close()

    def _wait(self) -> None:
        """Until something waits, and then for more of it, unless there is a hurry."""
        signals = self._outbox.signals
        if not len(self._outbox):
            signals.get()
        deadline = time.monotonic() + self.options.flush_interval_s
        while not self._is_hurried():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            try:
                signals.get(timeout=left)
            except Empty:
                return

    def _is_hurried(self) -> bool:
        return self._hurried > 0 or self._closing.is_set() or self._outbox.is_full_batch()

    def _drain(self) -> None:
        while parcels := self._outbox.take():
            try:
                dropped = self._outbox.num_refused + self._num_lost
                for letter in letters_of(parcels, self._mask, dropped):
                    self._deliver(letter)
            finally:
                self._settle(parcels)

    def _settle(self, parcels: list[Parcel]) -> None:
        self._outbox.settle(parcels)
        with self._settled:
            self._num_settled += len(parcels)
            self._settled.notify_all()
        self._report()

    def _deliver(self, letter: Letter) -> None:
        """Send until the server has it or refuses it, or the process ends."""
        body = letter.body()
        for attempt in range(1_000_000):
            if self._is_too_late(0.0):
                break
            reply = self._transport.ask("POST", letter.path, body, letter.headers)
            if reply.status == 413 and len(letter.parcels) > 1:
                for half in letter.halves():
                    self._deliver(half)
                return
            if not reply.is_temporary or (reply.status == 500 and attempt >= MAX_FAILURES):
                self._answered(letter, reply)
                return
            self._report(why=reply.said())
            pause = pause_s(attempt, reply.retry_after_s)
            if self._is_too_late(pause):
                break
            self._closing.wait(pause) if self._closed_by is None else time.sleep(pause)
        self._num_lost += len(letter.parcels)

    def _is_too_late(self, pause: float) -> bool:
        return self._closed_by is not None and time.monotonic() + pause >= self._closed_by

    def _answered(self, letter: Letter, reply: Reply) -> None:
        refused = letter.refused(reply) if reply.is_ok else len(letter.parcels)
        self._num_sent += len(letter.parcels) - refused
        self._num_refused += refused
        if refused:
            self._report(why=reply.said(), at_once=self._num_refused == refused)

    def _report(self, why: str = "", *, at_once: bool = False) -> None:
        """Say what was lost since the last report, at most once a minute."""
        now = time.monotonic()
        if not at_once and now - self._reported_at < REPORT_INTERVAL_S:
            return
        figures = self.stats()
        lost = figures.dropped - self._reported[0], figures.refused - self._reported[1]
        if not any(lost) and not why:
            return
        self._reported_at, self._reported = now, (figures.dropped, figures.refused)
        log.warning(
            "hone: %d dropped, %d refused, %d waiting for %s%s",
            *lost,
            figures.waiting,
            self.options.origin,
            f" ({why})" if why else "",
        )


def pause_s(attempt: int, retry_after_s: float | None) -> float:
    """Seconds before the next attempt: what the server asks for, else longer each time."""
    if retry_after_s is not None:
        return min(retry_after_s, 10 * MAX_BACKOFF_S)
    return min(MAX_BACKOFF_S, BACKOFF_S * 2.0 ** min(attempt, 10)) * random.uniform(0.5, 1.0)
