import errno
import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hone_engine.formats import Dense, FormatError, Progress, Tensor, TensorSpec, write_model

SPECS = {name: TensorSpec((64, 64), "fp32") for name in "abcd"}


def ones(name: str) -> Tensor:
    return Dense(np.ones((64, 64), np.float32), "fp32")


def write(path: Path, tensor: object = ones, **more: object) -> None:
    write_model(path, config={}, facts={}, sidecars={}, specs=SPECS, tensor=tensor, **more)  # type: ignore[arg-type]


def test_progress_counts_bytes_to_the_end(tmp_path: Path) -> None:
    seen: list[Progress] = []
    write(tmp_path / "m", on_progress=seen.append)
    assert [p.num_bytes for p in seen] == [16384, 32768, 49152, 65536]
    assert seen[-1].total_bytes == 65536
    assert seen[-1].left_s == 0


def test_rate_and_time_left_follow_from_the_bytes() -> None:
    half = Progress(num_bytes=50, total_bytes=150, elapsed_s=2.0)
    assert (half.bytes_per_second, half.left_s) == (25.0, 4.0)


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), OSError(errno.ENOSPC, "no space")])
def test_nothing_is_left_of_a_write_that_stops(tmp_path: Path, stop: BaseException) -> None:
    def tensor(name: str) -> Tensor:
        if name == "c":
            raise stop
        return ones(name)

    wanted = KeyboardInterrupt if isinstance(stop, KeyboardInterrupt) else FormatError
    with pytest.raises(wanted):
        write(tmp_path / "m", tensor)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_says_how_much_is_free(tmp_path: Path) -> None:
    def tensor(name: str) -> Tensor:
        raise OSError(errno.ENOSPC, "no space")

    with pytest.raises(FormatError, match=r"m: the disk is full \(\d+ MB free\); nothing was kept"):
        write(tmp_path / "m", tensor)


def test_a_model_larger_than_the_disk_is_refused_before_the_first_byte(tmp_path: Path) -> None:
    specs = {"w": TensorSpec((1 << 25, 1 << 25), "fp32")}
    with pytest.raises(FormatError, match="the disk is too full: 4503599627 MB wanted"):
        write_model(tmp_path / "m", config={}, facts={}, sidecars={}, specs=specs, tensor=ones)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_may_not_grow_is_one_clear_error(tmp_path: Path) -> None:
    """The system itself refuses the write here: a limit on the size of files."""
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[3] / "inference")!r})
import numpy as np
from pathlib import Path
from hone_engine.formats import Dense, FormatError, TensorSpec, write_model
specs = {{"w": TensorSpec((512, 512), "fp32")}}
tensor = lambda name: Dense(np.ones((512, 512), np.float32), "fp32")
try:
    write_model(Path({str(tmp_path / "m")!r}), config={{}}, facts={{}}, sidecars={{}},
                specs=specs, tensor=tensor)
except FormatError as error:
    sys.exit(str(error))
"""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [sys.executable, "-c", script],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "m: cannot be written (File too large)" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_older_model_is_kept_unless_it_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "m"
    write(path)
    with pytest.raises(FormatError, match="is already there"):
        write(path)
    (path / "old.txt").write_text("x")
    write(path, overwrite=True)
    assert not (path / "old.txt").exists()
    assert json.loads((path / "hone.json").read_text()) == {"format": 1}
    assert list(tmp_path.iterdir()) == [path]
