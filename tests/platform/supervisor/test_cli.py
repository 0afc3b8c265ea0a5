"""The command line: help, mistakes in plain words, exit statuses."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hone import cli
from hone.supervisor import batch, doctor, services
from hone.supervisor.batch import BatchError
from hone.supervisor.console import Console


def hone(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    try:
        status = cli.main(arguments)
    except SystemExit as end:
        status = int(end.code or 0)
    said = capsys.readouterr()
    return status, said.out + said.err


@pytest.mark.parametrize("command", [[], ["up"], ["run"], ["doctor"], ["backup"], ["restore"]])
def test_every_command_has_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, said = hone(*command, "--help", capsys=capsys)
    assert status == 0
    assert "usage: hone" in said


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["up", "--port", "0"], ["up", "--port", "x"], ["run"], []]
)
def test_wrong_usage_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, said = hone(*arguments, capsys=capsys)
    assert status == 2
    assert "usage:" in said


def test_a_port_in_use_is_told_with_a_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        status, said = hone("up", "--data-dir", str(tmp_path), "--port", port, capsys=capsys)
    assert status == 1
    assert "cannot be used" in said
    assert "--port" in said


def test_a_missing_extra_is_told_with_the_command_that_mends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "SERVER_MODULES", ("django", "a_module_nobody_has"))
    status, said = hone("up", "--data-dir", str(tmp_path), capsys=capsys)
    assert status == 1
    assert "a_module_nobody_has" in said
    assert "pip install 'hone-llm[demo]'" in said


def test_a_folder_that_cannot_be_written_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    status, said = hone("up", "--data-dir", "/proc/hone", capsys=capsys)
    assert status == 1
    assert said.startswith("hone: The data folder /proc/hone cannot be written")


def test_the_command_line_imports_neither_django_nor_torch() -> None:
    code = (
        "import sys, hone.cli; print({'django', 'torch', 'celery', 'hone_engine'} & {*sys.modules})"
    )
    root = str(Path(cli.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": root}
    )
    assert done.stdout.strip() == "set()"


def test_a_run_without_an_address_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HONE_URL", raising=False)
    monkeypatch.delenv("HONE_SECRET_KEY", raising=False)
    status, said = hone("run", "p@1", "x.jsonl", "--data-dir", str(tmp_path), capsys=capsys)
    assert status == 1
    assert "HONE_URL" in said


def test_a_product_that_does_not_run_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "PATIENCE_S", 0.0)
    monkeypatch.setenv("HONE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HONE_SECRET_KEY", "k")
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"a": 1}\n')
    status, said = hone("run", "p@1", str(rows), capsys=capsys)
    assert status == 1
    assert "Is `hone up` running?" in said


# Rows of a batch ----------------------------------------------------------------------------


def test_rows_are_read_from_jsonl_and_csv(tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text('\ufeff{"name": "Ada", "n": 3, "deep": [1]}\n\n{"name": "ä"}\n')
    assert batch.rows_read(lines) == [{"name": "Ada", "n": "3", "deep": "[1]"}, {"name": "ä"}]
    table = tmp_path / "a.csv"
    table.write_text('name,text\nAda,"one\ntwo"\n')
    assert batch.rows_read(table) == [{"name": "Ada", "text": "one\ntwo"}]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.jsonl", b"", "no rows"),
        ("a.jsonl", b'{"a":1}\n{"a"', "line 2 is not JSON"),
        ("a.jsonl", b"[1]\n", "line 1 is list"),
        ("a.jsonl", b'{"a":"\xff"}', "not UTF-8"),
        ("a.csv", b"a,b\n1\n", "as many fields"),
        ("a.csv", b"a\n1,2\n", "as many fields"),
    ],
)
def test_rows_that_cannot_be_read_are_named(
    tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BatchError, match=told):
        batch.rows_read(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(BatchError, match="cannot be read"):
        batch.rows_read(tmp_path / "none.jsonl")


def test_the_prompt_is_named_by_version_or_label() -> None:
    assert batch.prompt_parse("a/b@3") == {"name": "a/b", "version": 3}
    assert batch.prompt_parse("a@staging") == {"name": "a", "label": "staging"}
    assert batch.prompt_parse("a") == {"name": "a", "label": "production"}


def test_parameters_are_numbers_where_they_look_like_it() -> None:
    found = batch.parameters_parse(["temperature=0.2", "stop=END", "seed=3", 'x=["a"]'])
    assert found == {"temperature": 0.2, "stop": "END", "seed": 3, "x": ["a"]}
    with pytest.raises(BatchError):
        batch.parameters_parse(["temperature"])


def test_progress_says_how_long_it_takes() -> None:
    assert batch.progress_text(10, 200, 10, 5.0) == "10 of 200 (5 %), 2.0 a second, 95 s left"
    assert batch.progress_text(0, 200, 0, 5.0) == "0 of 200 (0 %)"


# Doctor -------------------------------------------------------------------------------------


def test_the_doctor_names_what_is_there_and_what_to_do(tmp_path: Path) -> None:
    found = {row.subject: row for row in doctor.findings(tmp_path, 8000)}
    assert {"system", "SIMD", "GPU", "server", "engine", "database", "broker"} <= found.keys()
    assert all(row.advice for row in found.values() if row.level != "ok")


def test_an_address_that_does_not_answer_is_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:9/hone")
    monkeypatch.setenv("REDIS_URL", "unix:///no/such.sock")
    found = {row.subject: row for row in doctor.findings(tmp_path, 8000)}
    assert (found["database"].level, found["broker"].level) == ("bad", "bad")
    assert "DATABASE_URL" in found["database"].found


def test_the_doctors_status_says_whether_hone_can_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(services, "SERVER_MODULES", ("a_module_nobody_has",))
    status, said = hone("doctor", "--data-dir", str(tmp_path), capsys=capsys)
    assert status == 1
    assert "cannot start here" in said


def test_a_closed_terminal_stops_nothing() -> None:
    class Closed:
        def write(self, text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None: ...

    Console(Closed()).step("x")  # type: ignore[arg-type]


def test_the_engines_commands_are_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []

    def execve(program: str, argv: list[str], env: dict[str, str]) -> None:
        called.append(argv[1:])
        raise SystemExit(0)

    monkeypatch.setattr("os.execve", execve)
    for arguments in (["engine", "serve", "M"], ["import", "x.gguf"], ["chat", "--help"]):
        with pytest.raises(SystemExit):
            cli.main(arguments)
    assert called == [
        ["-m", "hone_engine", "serve", "M"],
        ["-m", "hone_engine", "import", "x.gguf"],
        ["-m", "hone_engine", "chat", "--help"],
    ]
