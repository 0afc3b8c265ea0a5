"""The engine's commands: import, serve, chat, bench, perplexity.

Each lives in a module of its own with `add_arguments` and `run`, loaded when it is named, so that
`import` does not wait for a web server to load.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Protocol, cast

from hone_engine.cli.terminal import fail, say

COMMANDS = {  # name: (module, summary)
    "import": ("importing", "make a model directory from a GGUF file or a Hugging Face directory"),
    "serve": ("serving", "answer OpenAI-style requests over HTTP"),
    "chat": ("chatting", "talk to a model in the terminal"),
    "bench": ("benching", "measure prompt processing and generation"),
    "perplexity": ("foretelling", "measure how well a model foretells a text"),
}
INTERRUPTED = 130


class Command(Protocol):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, options: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 failed, 2 wrong usage."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        say(usage())
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in COMMANDS:
        fail(f"there is no command {name!r}; the commands are {', '.join(COMMANDS)}")
        return 2
    module, summary = COMMANDS[name]
    command = cast(Command, importlib.import_module(f"hone_engine.cli.{module}"))
    parser = argparse.ArgumentParser(prog=f"hone_engine {name}", description=summary)
    command.add_arguments(parser)
    return _run(command, parser.parse_args(rest))


def _run(command: Command, options: argparse.Namespace) -> int:
    try:
        return command.run(options)
    except KeyboardInterrupt:
        fail("interrupted")
        return INTERRUPTED
    except OSError as error:
        fail(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
        return 1
    except (ValueError, RuntimeError) as error:
        fail(str(error))
        return 1


def usage() -> str:
    lines = [f"  {name:<12}{summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(["usage: python -m hone_engine COMMAND ...", "", *lines])
