# Hone. Two commands do everything: `make demo` and `make test`.
SHELL := bash
PY := .venv/bin/python
PYTHON ?= python3
PORT ?= 8000
DATA ?= .hone
export PYTHON

.PHONY: help demo test check bench setup setup-test ext ui

help:  ## Say what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

demo: setup  ## Set up, start Hone with a small local model, print its address (PORT=8000 DATA=.hone)
	@exec .venv/bin/hone up --demo --data-dir $(DATA) --port $(PORT)

test: setup-test check  ## Everything that CI runs
	$(PY) scripts/run_tests.py

check: setup-test  ## Lint, types, layers, front-end rules
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports
	$(PY) scripts/check_cuda.py
	cd frontend && PATH="$(CURDIR)/.venv/bin:$$PATH" npm run --silent check

bench: setup-test  ## Measure: speed beside peers where they are installed, footprint, soak
	$(PY) bench/run.py

setup:
	@bash scripts/setup.sh demo

setup-test:
	@bash scripts/setup.sh test

ext: ## Build the C++ extension in place
	$(PY) scripts/build_ext.py

ui: ## Build the pages
	$(PY) scripts/build_ui.py
