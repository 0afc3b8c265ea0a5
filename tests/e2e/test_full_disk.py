"""A data folder on a disk that runs full: what was accepted stays, the rest is refused."""

import contextlib
import json
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
SPANS = 100


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file system of 260 MB in memory, on which folders for products are made."""
    if "HONE_E2E_DATABASE_URL" in os.environ:
        pytest.skip("that database's disk is not ours to fill; the embedded one's is filled")
    if os.geteuid() != 0:
        pytest.skip("a small file system can be mounted by root only")
    folder = Path(tempfile.mkdtemp(prefix="hone-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=260m,mode=755", "tmpfs", folder], check=False
    )
    if mounted.returncode:
        folder.rmdir()
        pytest.skip("this machine does not let root mount a file system")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


def export(trace_id: str) -> bytes:
    """An OTLP export of one trace with many long spans."""
    now = time.time_ns()
    spans = [
        {
            "traceId": trace_id,
            "spanId": f"{number + 1:016x}",
            "name": "step",
            "startTimeUnixNano": str(now),
            "endTimeUnixNano": str(now + 1),
            # Random text: the database compresses what repeats.
            "attributes": [
                {"key": "input.value", "value": {"stringValue": os.urandom(2000).hex()}}
            ],
        }
        for number in range(SPANS)
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def send(server: Any, trace_id: str) -> tuple[int, str | None]:
    """Status and Retry-After of one export; a broken connection counts as no answer (0)."""
    request = urllib.request.Request(
        f"{server.url}/v1/traces",
        data=export(trace_id),
        headers={
            "Authorization": f"Bearer {server.secret_key}",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get("Retry-After")


def fill(path: Path) -> None:
    """Write until the disk has no room."""
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(b"\1" * 65536)


def test_a_full_disk_refuses_and_recovers_and_loses_nothing(
    small_disk: Path, hone_start: Callable[..., Any], wait_until: Callable[..., Any]
) -> None:
    server = hone_start("--no-engine")
    accepted = []
    first = uuid.uuid4().hex
    assert send(server, first)[0] == 200
    accepted.append(first)

    filler = small_disk / "filler"
    fill(filler)
    refused: list[tuple[int, str | None]] = []
    deadline = time.monotonic() + 90
    while len(refused) < 3:
        assert time.monotonic() < deadline, "the disk is full, yet everything was accepted"
        trace_id = uuid.uuid4().hex
        status, retry_after = send(server, trace_id)
        if status == 200:
            accepted.append(trace_id)
        else:
            refused.append((status, retry_after))
    assert {status for status, _ in refused} == {503}
    assert all(after for _, after in refused)

    filler.unlink()
    latest = uuid.uuid4().hex
    wait_until(lambda: send(server, latest)[0] == 200, "room again")
    accepted.append(latest)
    for trace_id in accepted:
        status, found = server.get(f"/api/projects/{server.project}/traces/{trace_id}")
        assert status == 200
        assert found["trace"]["observation_count"] == SPANS
