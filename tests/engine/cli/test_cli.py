import io
import json
import shutil
import signal
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from hone_engine.cli import COMMANDS, main
from hone_engine.cli.chatting import rate
from hone_engine.cli.importing import default_name
from hone_engine.cli.terminal import ProgressLine
from hone_engine.formats import Progress
from hone_engine.types import Timings

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))

from quantized_models import make

TINY = Path(__file__).parents[1] / "models" / "golden" / "tiny" / "llama3"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny"
    shutil.copytree(TINY, path)
    tokenizer = Tokenizer(models.WordLevel({chr(64 + n): n for n in range(64)}, unk_token="@"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.save(str(path / "tokenizer.json"))
    (path / "chat_template.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    return path


Out = pytest.CaptureFixture[str]


def test_help_names_every_command(capsys: Out) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)


def test_an_unknown_command_is_wrong_usage(capsys: Out) -> None:
    assert main(["improt"]) == 2
    assert "there is no command 'improt'; the commands are import" in capsys.readouterr().err
    assert main([]) == 2


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself(name: str, capsys: Out) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert COMMANDS[name][1] in capsys.readouterr().out


def test_import_writes_a_directory_and_says_how_large(tmp_path: Path, capsys: Out) -> None:
    assert main(["import", str(TINY), "--bits", "4", "--out", str(tmp_path / "m")]) == 0
    assert (tmp_path / "m" / "model.safetensors").exists()
    assert "bits a weight" in capsys.readouterr().out


def test_an_import_that_fails_is_one_line(tmp_path: Path, capsys: Out) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF")
    assert main(["import", str(tmp_path / "bad.gguf"), "--out", str(tmp_path / "m")]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"hone: {tmp_path}/bad.gguf: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_import_leaves_nothing(
    tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    def interrupt(self: ProgressLine, progress: Progress) -> None:
        signal.raise_signal(sent)

    monkeypatch.setattr(ProgressLine, "__call__", interrupt)
    assert main(["import", str(TINY), "--out", str(tmp_path / "m")]) == 130
    assert list(tmp_path.iterdir()) == []
    assert "interrupted" in capsys.readouterr().err


def test_a_directory_is_named_after_its_source(tmp_path: Path) -> None:
    file = tmp_path / "Some Model.Q4_1.gguf"
    file.write_bytes(b"")
    assert default_name(file, None) == "Some-Model.Q4_1"
    assert default_name(tmp_path, 8) == f"{tmp_path.name}-8bit"


def test_perplexity_prints_one_object(tiny: Path, tmp_path: Path, capsys: Out) -> None:
    (tmp_path / "text.txt").write_text("ABCDEFGHIJKLMNOP" * 10)
    args = ["perplexity", str(tiny), str(tmp_path / "text.txt"), "--tokens", "100"]
    assert main([*args, "--window", "50"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tokens"], found["scored"], found["window"]) == (100, 98, 50)
    assert found["perplexity"] > 1


def test_a_conversation_is_streamed_reset_and_left(
    tiny: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("HELLO\n/reset\n/what\n" + "A" * 400 + "\n/exit\n")
    )
    args = ["chat", str(tiny), "--max-tokens", "5", "--seed", "1", "--cache-tokens", "128"]
    assert main(args) == 0
    text = capsys.readouterr().out
    assert "5 tokens, " in text
    assert "tokens/s, the first after" in text
    assert "A new conversation." in text
    assert "/reset starts anew" in text
    assert "(/reset starts anew)" in text  # the prompt that was too long


@pytest.mark.parametrize("kind", ["exl2-mixed", "gptq-4-actorder", "awq-4"])
def test_a_directory_that_another_program_quantized_is_talked_to(
    tiny: Path, tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    quantized, _ = make(tiny, tmp_path, kind)
    assert main(["import", str(quantized), "--out", str(tmp_path / "imported")]) == 0
    answers = []
    for model in (quantized, tmp_path / "imported"):
        monkeypatch.setattr("sys.stdin", io.StringIO("AB\n"))
        args = ["chat", str(model), "--max-tokens", "5", "--seed", "1", "--cache-tokens", "128"]
        assert main(args) == 0
        text = capsys.readouterr().out
        assert "5 tokens, " in text
        answers.append([line for line in text.splitlines() if "tokens/s" not in line][-1])
    assert answers[0] == answers[1]


def test_a_method_that_is_not_read_is_one_line(tiny: Path, tmp_path: Path, capsys: Out) -> None:
    shutil.copytree(tiny, tmp_path / "m")
    config = json.loads((tiny / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "aqlm"}
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    assert main(["serve", str(tmp_path / "m")]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"hone: {tmp_path}/m/config.json: is quantized as 'aqlm'")
    assert error.count("\n") == 1


def test_the_rate_counts_from_the_first_token() -> None:
    timings = Timings(
        10.0, 10.1, 10.5, 12.5, prompt_tokens=3, cached_tokens=0, completion_tokens=41
    )
    assert rate(timings) == "41 tokens, 20.0 tokens/s, the first after 0.50 s"


def test_progress_tells_share_rate_and_time_left() -> None:
    text = ProgressLine("Importing").text(Progress(50_000_000, 200_000_000, 0.5))
    assert text == "Importing  25%  50/200 MB  0.10 GB/s  2 s left"


def test_bench_measures_prompt_answer_and_many_at_once(
    tiny: Path, tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny, tmp_path / "long")
    file = tmp_path / "long" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"max_position_embeddings": 2048}))
    assert main(["bench", str(tmp_path / "long"), "--repeats", "1", "--json", "found.json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[1:4]] == [
        "prompt of 512 tokens",
        "generation of 128 tokens",
        "8 sequences of 64 tokens",
    ]
    found = json.loads((tmp_path / "found.json").read_text())
    assert {(f["streams"], f["context"]) for f in found["figures"]} >= {
        (1, 128),
        (8, 1024),
        (0, 512),
    }
    assert all(f["stages"] and f["limit"] and f["advice"] for f in found["figures"])
    page = (tmp_path / "bench-long.html").read_text()
    assert "Plotly" in page
    assert "<script src" not in page
    assert "<link" not in page
