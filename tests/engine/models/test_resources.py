"""What a process that hosts the 4-bit model takes: measured in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
MAX_RESIDENT_MB = 300  # a full cache of the default size adds 190
SCRIPT = """
import json, sys, time
started = time.process_time()
from pathlib import Path
from hone_engine import runner
from hone_engine.config import EngineConfig
from hone_engine.types import Chunk, SamplingParams, Sequence

config = EngineConfig()
model = runner.load(Path(sys.argv[1]), config)
loaded_s = time.process_time() - started
sequence = Sequence(0, [5] * 512, 512, SamplingParams(temperature=0), 0, 600)
sequence.pages = list(range(16))
step = config.max_step_tokens
for start in range(0, 512, step):
    model.runner.run([Chunk(sequence, start, min(step, 512 - start))])
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps({
    "resident_mb": int(status["VmRSS"].split()[0]) / 1000,
    "peak_mb": int(status["VmHWM"].split()[0]) / 1000,
    "load_cpu_s": loaded_s,
    "has_torch": "torch" in sys.modules,
}))
"""


def test_the_engine_with_the_4_bit_model_stays_small(smollm2_q4: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(smollm2_q4)],
        env={"PYTHONPATH": str(ROOT / "inference"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=110,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["resident_mb"] < MAX_RESIDENT_MB
    assert found["peak_mb"] < MAX_RESIDENT_MB  # no second copy of the weights while loading
    assert not found["has_torch"]  # 190 MB and a second that the kernels do not need
    assert found["load_cpu_s"] < 10
