"""Build the wheel, with the pages in it, into a folder (default: dist)."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main(folder: str = "dist") -> None:
    """Build the pages if they changed, then one wheel."""
    subprocess.run([sys.executable, ROOT / "scripts" / "build_ui.py"], check=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
         "--wheel-dir", folder, str(ROOT)],
        check=True,
    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
