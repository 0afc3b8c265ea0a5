"""The `hone` command: a thin face of the supervisor, of the engine's own command and of the API."""

import argparse
import importlib.metadata
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hone.supervisor import services
from hone.supervisor.batch import BatchError, BatchOptions, batch_run
from hone.supervisor.console import Console
from hone.supervisor.demoenv import demo_env_read
from hone.supervisor.doctor import doctor
from hone.supervisor.errors import StartError
from hone.supervisor.prompt_files import (
    Door,
    PromptsError,
    door_of_pair,
    door_of_secret,
    pull,
    push,
)
from hone.supervisor.prompt_import import langfuse_import
from hone.supervisor.startup import UpOptions
from hone.supervisor.up import stores_run, up

ENGINE_COMMANDS = ("import", "chat", "bench", "engine")
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 failed, 2 wrong usage."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in ENGINE_COMMANDS:
        return _engine(arguments)
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except (StartError, BatchError, PromptsError) as error:
        sys.stderr.write(f"hone: {error}\n")
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _engine(arguments: list[str]) -> int:
    """Hand over to `python -m hone_engine`, which owns these commands and their help."""
    rest = arguments[1:] if arguments[0] == "engine" else arguments
    if not rest or rest[0] in ("-h", "--help"):
        rest = ["--help"]
    roots = services.source_roots()
    path = [*roots, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(path))}
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", "hone_engine", *rest], env)


def _up(options: argparse.Namespace) -> int:
    wanted = UpOptions(
        data_dir=options.data_dir,
        host=options.host,
        port=options.port,
        model=options.model,
        engine=not options.no_engine,
        demo=options.demo,
    )
    return up(wanted, Console())


def _backup(options: argparse.Namespace) -> int:
    file = str(options.file.expanduser().absolute())
    flags = [f"--{name.replace('_', '-')}" for name in options.flags if getattr(options, name)]
    alone = options.command == "restore"
    command = [options.command, file, *flags]
    return stores_run(options.data_dir, command, Console(sys.stderr), alone=alone)


def _doctor(options: argparse.Namespace) -> int:
    return doctor(options.data_dir, options.port, Console())


def _door(options: argparse.Namespace) -> Door:
    known = demo_env_read(options.data_dir / "demo.env")
    url = options.url or os.environ.get("HONE_URL") or known.get("HONE_URL")
    secret = os.environ.get("HONE_SECRET_KEY") or known.get("HONE_SECRET_KEY")
    if not url or not secret:
        raise PromptsError("No address or key: set HONE_URL and HONE_SECRET_KEY, or --data-dir.")
    return door_of_secret(url, secret)


def _prompts(options: argparse.Namespace) -> int:
    door, console = _door(options), Console(sys.stderr)
    if options.what == "pull":
        return pull(door, options.folder, options.label, console)
    if options.what == "push":
        return push(
            door,
            options.folder,
            force=options.force,
            dry_run=options.dry_run,
            message=options.message,
            console=console,
        )
    secret = options.secret or os.environ.get("LANGFUSE_SECRET_KEY", "")
    return langfuse_import(door_of_pair(options.source, options.public, secret), door, console)


def _run(options: argparse.Namespace) -> int:
    known = demo_env_read(options.data_dir / "demo.env")
    url = options.url or os.environ.get("HONE_URL") or known.get("HONE_URL")
    secret = os.environ.get("HONE_SECRET_KEY") or known.get("HONE_SECRET_KEY")
    if not url or not secret:
        raise BatchError("No address or key: set HONE_URL and HONE_SECRET_KEY, or --data-dir.")
    wanted = BatchOptions(
        url=url,
        secret=secret,
        prompt=options.prompt,
        model=options.model or known.get("HONE_MODEL", ""),
        inputs=options.inputs,
        output=options.output,
        name=options.name,
        parameters=options.parameter,
    )
    return batch_run(wanted, Console(sys.stderr))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hone", description="Versions, traces and scores for language-model work."
    )
    parser.add_argument("--version", action="version", version=f"hone {_version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_up(commands)
    _add_run(commands)
    _add_prompts(commands)
    _add_doctor(commands)
    _add_backup(commands)
    _add_restore(commands)
    for name, help_text in (
        ("import", "make a Hone model folder of a GGUF file or a Hugging Face folder"),
        ("chat", "chat with a model in the terminal"),
        ("bench", "measure how fast a model runs here"),
        ("engine", "`hone engine serve MODEL`: the engine alone, without the platform"),
    ):
        commands.add_parser(name, help=help_text, add_help=False)
    return parser


def _add_up(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "up",
        help="start Hone: database, broker, web, worker and engine",
        description="Start Hone and keep it running until Ctrl-C. PostgreSQL and Valkey are "
        "started in the data folder unless DATABASE_URL and REDIS_URL name others.",
    )
    _add_data_dir(command)
    command.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    command.add_argument("--port", type=_port, default=8000, help="port (%(default)s)")
    command.add_argument(
        "--model",
        metavar="PATH",
        help="model folder or .gguf file for the engine (default: the latest one used, "
        "else the demo model's package)",
    )
    command.add_argument("--no-engine", action="store_true", help="start without the engine")
    command.add_argument(
        "--demo", action="store_true", help="fill the first project with prompts and real traces"
    )
    command.set_defaults(run=_up)


def _add_backup(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "backup",
        help="write everything in the database to one file",
        description="Write the whole database to one file, also while Hone runs. The secret key "
        "is not in it unless HONE_BACKUP_PASSPHRASE seals it in or --with-secret-key asks for it.",
    )
    command.add_argument("file", type=Path, metavar="FILE")
    command.add_argument("--force", action="store_true", help="overwrite the file")
    command.add_argument(
        "--with-secret-key", action="store_true", help="put the secret key in, unsealed"
    )
    _add_data_dir(command)
    command.set_defaults(run=_backup, flags=("force", "with_secret_key"))


def _add_restore(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "restore",
        help="read a backup into a data folder that is not in use",
        description="Read a file of `hone backup` into the data folder's database: all of it, or "
        "nothing is changed. Stop Hone first. Read only files that you trust.",
    )
    command.add_argument("file", type=Path, metavar="FILE")
    command.add_argument("--replace", action="store_true", help="delete what the database holds")
    _add_data_dir(command)
    command.set_defaults(run=_backup, flags=("replace",))


def _add_run(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "run",
        help="answer a prompt for every line of a JSONL or CSV file",
        description="Answer one prompt version for every row of variables in INPUTS and write one "
        "JSON line a row. Interrupted, the same command goes on where it stopped.",
    )
    command.add_argument("prompt", metavar="PROMPT", help="name@label or name@version")
    command.add_argument("inputs", type=Path, metavar="INPUTS", help="variables: .jsonl or .csv")
    command.add_argument("-o", "--output", type=Path, help="default: INPUTS.answers.jsonl")
    command.add_argument("--model", help="default: the local engine's model")
    command.add_argument("--name", help="name of the run (default: the file's name)")
    command.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="e.g. -p temperature=0.2 -p max_tokens=64",
    )
    command.add_argument("--url", help="Hone's address (default: HONE_URL, else the data folder's)")
    _add_data_dir(command)
    command.set_defaults(run=_run)


def _add_prompts(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "prompts",
        help="keep prompts as Markdown files in Git, or bring them over from Langfuse",
        description="Keep a folder of Markdown files and a project's prompts alike, or copy the "
        "prompts of a Langfuse project. The project is that of HONE_SECRET_KEY.",
    )
    what = command.add_subparsers(dest="what", required=True, metavar="pull|push|import-langfuse")
    one = what.add_parser("pull", help="write every prompt into FOLDER as NAME.md")
    one.add_argument("folder", type=Path, metavar="FOLDER")
    one.add_argument("--label", help="the version with this label (default: the latest)")
    two = what.add_parser("push", help="make the prompts what the files say")
    two.add_argument("folder", type=Path, metavar="FOLDER")
    two.add_argument("--force", action="store_true", help="write over versions made since the pull")
    two.add_argument("--dry-run", action="store_true", help="tell what would be done")
    two.add_argument("-m", "--message", default="", help="what changed, of all new versions")
    three = what.add_parser("import-langfuse", help="copy prompts with all versions and labels")
    three.add_argument("source", metavar="URL", help="e.g. https://cloud.langfuse.com")
    three.add_argument("--public", required=True, metavar="KEY", help="public key, pk-lf-…")
    three.add_argument("--secret", metavar="KEY", help="secret key (default: LANGFUSE_SECRET_KEY)")
    for each in (one, two, three):
        each.add_argument(
            "--url", help="Hone's address (default: HONE_URL, else the data folder's)"
        )
        _add_data_dir(each)
    command.set_defaults(run=_prompts)


def _add_doctor(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "doctor", help="say what this machine has and what to do about what is missing"
    )
    _add_data_dir(command)
    command.add_argument("--port", type=_port, default=8000)
    command.set_defaults(run=_doctor)


def _add_data_dir(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--data-dir",
        type=Path,
        default=Path(os.environ.get("HONE_DATA_DIR", ".hone")),
        metavar="FOLDER",
        help="everything Hone remembers is in it (%(default)s)",
    )


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return int(text)


def _version() -> str:
    try:
        return importlib.metadata.version("hone-llm")
    except importlib.metadata.PackageNotFoundError:
        return "(from a checkout)"


if __name__ == "__main__":
    raise SystemExit(main())
