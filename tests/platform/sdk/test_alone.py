"""The SDK is small: what importing it brings along."""

import subprocess
import sys
from pathlib import Path

import hone.sdk

PLATFORM = Path(hone.sdk.__file__).parents[2]
SDK = PLATFORM / "hone" / "sdk"
FILES = [p for p in SDK.rglob("*.py") if p.name != "__init__.py" and "openai" not in p.parts]
NAMES = sorted(".".join(p.relative_to(PLATFORM).with_suffix("").parts) for p in FILES)
ABSENT = (
    "django", "rest_framework", "channels", "celery", "torch", "numpy", "httpx", "requests",
    "google.protobuf", "pydantic", "orjson", "openai", "asgiref", "hone.common", "hone.traces",
)  # fmt: skip


def test_it_brings_nothing_but_opentelemetry() -> None:
    source = f"import sys, {', '.join(NAMES)}; print([m for m in {ABSENT!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=PLATFORM,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "[]"
