#!/usr/bin/env bash
# Every system package that Hone's set-up and tests need, for Debian and Ubuntu.
# Usage: system-packages.sh demo|test    installs what is missing (as root) or says what to install.
set -euo pipefail

demo=(python3 python3-venv python3-dev g++ make)
test=("${demo[@]}" chromium git)

case "${1:-}" in
  demo) wanted=("${demo[@]}") ;;
  test) wanted=("${test[@]}") ;;
  *) echo "usage: $0 demo|test" >&2; exit 2 ;;
esac

# What counts is whether the thing is there, not which package brought it.
missing=()
for package in "${wanted[@]}"; do
  case "$package" in
    python3) command -v python3 >/dev/null && continue ;;
    python3-venv) "${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null && continue ;;
    python3-dev) "${PYTHON:-python3}" -c \
      'import os, sysconfig as s, sys; sys.exit(not os.path.exists(s.get_path("include") + "/Python.h"))' && continue ;;
    *) command -v "$package" >/dev/null && continue ;;
  esac
  missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing system packages: ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  echo "Hone needs system packages that are not here. Install them, then run this again:" >&2
  echo "    sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
