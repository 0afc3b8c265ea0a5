"""An OTLP client for benchmarks that retries as exporters do and knows what was acknowledged."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

AGAIN = (429, 502, 503, 504)
PAUSE_S = 0.5  # before the next attempt, where the answer names no time
MAX_PAUSE_S = 10.0


@dataclass
class Sent:
    """What became of a load."""

    acknowledged: list[int] = field(default_factory=list)  # numbers of bodies, as they were
    latencies: list[float] = field(default_factory=list)  # seconds, of acknowledged requests
    outcomes: Counter[int | str] = field(default_factory=Counter)  # status or exception
    refused: list[tuple[int, bytes]] = field(default_factory=list)  # for good, with the answer
    waits: list[float] = field(default_factory=list)  # Retry-After of what came too early
    wall_s: float = 0.0

    def latency_ms(self, share: int) -> float:
        """A percentile."""
        ordered = sorted(self.latencies) or [0.0]
        return round(1e3 * ordered[min(len(ordered) - 1, len(ordered) * share // 100)], 1)


class Load:
    """Bodies on their way over keep-alive connections; `join` waits for the last answer.

    Each connection waits `pause_s` before a body; nothing is sent any more after `limit_s`.
    """

    def __init__(
        self,
        url: str,
        bodies: Sequence[bytes],
        headers: Mapping[str, str],
        *,
        connections: int = 4,
        limit_s: float = float("inf"),
        pause_s: float = 0.0,
    ) -> None:
        self.sent = Sent()
        self._where = urlsplit(url)
        self._bodies = bodies
        self._headers = {"Content-Type": "application/x-protobuf", **headers}
        self._lock, self._numbers = threading.Lock(), iter(range(len(bodies)))
        self._pause_s, self._ends = pause_s, threading.Event()
        self._began = time.perf_counter()
        self._until = self._began + limit_s
        self._threads = [
            threading.Thread(target=self._work, daemon=True) for _ in range(connections)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> Sent:
        """Begin nothing new, and wait until what was begun is acknowledged."""
        self._ends.set()
        return self.join()

    def join(self) -> Sent:
        for thread in self._threads:
            thread.join()
        return self.sent

    def _work(self) -> None:
        connection = http.client.HTTPConnection(self._where.netloc, timeout=60)
        while time.perf_counter() < self._until and not self._ends.wait(self._pause_s):
            with self._lock:
                number = next(self._numbers, None)
            if number is None:
                break
            self._deliver(connection, number)
        connection.close()

    def _deliver(self, connection: http.client.HTTPConnection, number: int) -> None:
        """Post a body until it is acknowledged, refused for good, or time is up."""
        body = self._bodies[number]
        while time.perf_counter() < self._until:
            began = time.perf_counter()
            status, after, text = self._post(connection, body)
            now = time.perf_counter()
            with self._lock:
                self.sent.outcomes[status] += 1
                if status in (200, 202):
                    self.sent.acknowledged.append(number)
                    self.sent.latencies.append(now - began)
                    self.sent.wall_s = now - self._began
                    return
                if isinstance(status, int) and status not in AGAIN:
                    self.sent.refused.append((status, text[:300]))
                    return
                if after is not None:
                    self.sent.waits.append(after)
            time.sleep(min(PAUSE_S if after is None else after, MAX_PAUSE_S))

    def _post(
        self, connection: http.client.HTTPConnection, body: bytes
    ) -> tuple[int | str, float | None, bytes]:
        try:
            connection.request("POST", self._where.path, body, self._headers)
            answer = connection.getresponse()
            text, after = answer.read(), answer.getheader("Retry-After")
        except (OSError, http.client.HTTPException) as error:
            connection.close()  # the next request opens it anew
            return type(error).__name__, None, b""
        return answer.status, float(after) if after and after.isdecimal() else None, text
