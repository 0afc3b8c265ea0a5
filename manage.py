#!/usr/bin/env python
"""Django's command line, run from a checkout."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def main() -> None:
    # `platform/` goes on the path as a source root; it must never become a package itself,
    # or it would shadow the standard library's module of that name.
    sys.path[:0] = [str(ROOT / "platform"), str(ROOT / "inference")]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hone.config.settings.dev")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
