"""`python -m hone_engine`."""

import sys

from hone_engine.cli import main

if __name__ == "__main__":
    sys.exit(main())
