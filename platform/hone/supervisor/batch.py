"""`hone run`: one prompt over a file of variables, through the REST API; it can be interrupted.

The rows become runs of at most `ROWS_A_RUN` items on the server, which goes on answering when
this command is stopped. A small file beside the output remembers their ids, so that the same
command picks them up again.
"""

import contextlib
import csv
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hone.supervisor.console import Console
from hone.supervisor.probe import Answer, ask

ROWS_A_RUN = 1000
ITEMS_A_PAGE = 200
POLL_S = 0.5
PATIENCE_S = 60.0  # for a server that restarts
FINAL = ("done", "failed", "canceled")


class BatchError(Exception):
    """The run cannot go on; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """What `hone run` was asked for."""

    url: str
    secret: str
    prompt: str
    model: str
    inputs: Path
    output: Path | None = None
    name: str | None = None
    parameters: list[str] = field(default_factory=list)

    @property
    def answers(self) -> Path:
        return self.output or self.inputs.with_suffix(".answers.jsonl")

    @property
    def memory(self) -> Path:
        return self.answers.with_name(f".{self.answers.name}.runs.json")


def batch_run(options: BatchOptions, console: Console) -> int:
    """Answer every row and write one JSON line a row; 0 when all rows have an answer, else 1."""
    rows = rows_read(options.inputs)
    client = _Client(options.url, options.secret)
    runs = _runs_recall(options, rows)
    try:
        for start in range(len(runs) * ROWS_A_RUN, len(rows), ROWS_A_RUN):
            chunk = rows[start : start + ROWS_A_RUN]
            runs.append(client.run_create(_run_body(options, chunk)))
            _runs_remember(options, rows, runs)
        _wait(client, runs, len(rows), console)
    except KeyboardInterrupt:
        console.line("\nInterrupted; the server goes on. The same command picks the answers up.")
        raise
    num_failed = _write(client, runs, options.answers)
    options.memory.unlink(missing_ok=True)
    console.line(f"{len(rows) - num_failed} answers, {num_failed} failed: {options.answers}")
    return 1 if num_failed else 0


def rows_read(path: Path) -> list[dict[str, str]]:
    """Variables of each row of a .jsonl or .csv file; raises BatchError naming the line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file)) if path.suffix == ".csv" else list(_json_rows(file))
    except OSError as error:
        raise BatchError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BatchError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error
    if not rows:
        raise BatchError(f"{path} has no rows.")
    if any(None in row or None in row.values() for row in rows):
        raise BatchError(f"{path}: every row needs as many fields as the first line has names.")
    return rows


def _json_rows(lines: Any) -> Iterator[dict[str, str]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise BatchError(f"line {number} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise BatchError(f"line {number} is {type(row).__name__}, an object is wanted.")
        yield {str(key): _text(value) for key, value in row.items()}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def prompt_parse(text: str) -> dict[str, Any]:
    """`name@3` or `name@label`; without `@` the label is `production`."""
    name, found, which = text.rpartition("@")
    if not found:
        return {"name": which, "label": "production"}
    return (
        {"name": name, "version": int(which)}
        if which.isdecimal()
        else {
            "name": name,
            "label": which,
        }
    )


def parameters_parse(pairs: list[str]) -> dict[str, Any]:
    """`temperature=0.2` -> {"temperature": 0.2}; raises BatchError."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BatchError(f"--parameter wants NAME=VALUE, not {pair!r}.")
        found[name] = value
        with contextlib.suppress(ValueError):
            found[name] = json.loads(value)
    return found


def _run_body(options: BatchOptions, rows: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "name": options.name or options.inputs.name,
        "prompt": prompt_parse(options.prompt),
        "model": options.model,
        "parameters": parameters_parse(options.parameters),
        "inputs": rows,
    }


def _digest(options: BatchOptions, rows: list[dict[str, str]]) -> str:
    what = [options.url, options.prompt, options.model, sorted(options.parameters), rows]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def _runs_recall(options: BatchOptions, rows: list[dict[str, str]]) -> list[str]:
    try:
        memory = json.loads(options.memory.read_text())
    except (OSError, ValueError):
        return []
    same = isinstance(memory, dict) and memory.get("digest") == _digest(options, rows)
    return [str(run) for run in memory["runs"]] if same else []


def _runs_remember(options: BatchOptions, rows: list[dict[str, str]], runs: list[str]) -> None:
    options.memory.write_text(json.dumps({"digest": _digest(options, rows), "runs": runs}))


def _wait(client: "_Client", runs: list[str], total: int, console: Console) -> None:
    started, first = time.monotonic(), None
    for _ in iter(int, 1):
        states = [client.run_get(run) for run in runs]
        done = sum(state["done"] + state["failed"] for state in states)
        first = done if first is None else first
        if all(state["state"] in FINAL for state in states):
            return
        console.step(progress_text(done, total, done - first, time.monotonic() - started))
        time.sleep(POLL_S if done - first < 20 else 2 * POLL_S)


def progress_text(done: int, total: int, num_new: int, seconds: float) -> str:
    """`12 of 200 (6 %), 3.1 a second, 61 s left`."""
    text = f"{done} of {total} ({100 * done // total} %)"
    if num_new <= 0 or seconds <= 0:
        return text
    rate = num_new / seconds
    return f"{text}, {rate:.1f} a second, {(total - done) / rate:.0f} s left"


def _write(client: "_Client", runs: list[str], path: Path) -> int:
    num_failed = 0
    new = path.with_name(f".{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        for number, run in enumerate(runs):
            for item in client.items(run):
                num_failed += item["state"] != "done"
                item["index"] += number * ROWS_A_RUN
                file.write(json.dumps(item, ensure_ascii=False) + "\n")
    new.replace(path)
    return num_failed


class _Client:
    """The API of the key's project."""

    def __init__(self, url: str, secret: str) -> None:
        self._url = url
        self._secret = secret
        projects = self._get("/api/projects")["data"]
        if not projects:
            raise BatchError("The key belongs to no project.")
        self._runs = f"/api/projects/{projects[0]['slug']}/runs"

    def run_create(self, body: dict[str, Any]) -> str:
        answer = ask(self._url, self._runs, method="POST", secret=self._secret, body=body)
        return str(_checked(answer, 202)["id"])

    def run_get(self, run: str) -> dict[str, Any]:
        return self._get(f"{self._runs}/{run}")

    def items(self, run: str) -> Iterator[dict[str, Any]]:
        cursor = ""
        while True:
            path = f"{self._runs}/{run}/items?limit={ITEMS_A_PAGE}"
            page = self._get(f"{path}&cursor={cursor}" if cursor else path)
            yield from page["data"]
            cursor = page["next_cursor"]
            if not cursor:
                return

    def _get(self, path: str) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = ask(self._url, path, secret=self._secret, timeout_s=30.0)
            if answer.status not in (0, 429, 503) or time.monotonic() > deadline:
                return _checked(answer, 200)
            time.sleep(POLL_S)


def _checked(answer: Answer, wanted: int) -> dict[str, Any]:
    if answer.status == wanted and isinstance(answer.body, dict):
        return answer.body
    if answer.status == 0:
        raise BatchError(f"Hone does not answer ({answer.body}). Is `hone up` running?")
    told = answer.body.get("error", {}).get("message") if isinstance(answer.body, dict) else None
    raise BatchError(f"Hone answered {answer.status}: {told or str(answer.body)[:300]}")
