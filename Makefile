# Both commands set up everything they need in .venv; nothing is installed elsewhere.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: run test format bench clean

run: .venv/ready
	$(BIN)/mogro reproduce main

test: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy
	$(BIN)/pytest

format: .venv/ready
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The peers live in an environment of their own. One of them has to be compiled: go on without it.
PEERS := vowpalwabbit mabwiser bayesianbandits river pymoo highspy
BENCH := .venv-bench/bin

bench: .venv-bench/ready
	$(BENCH)/python -m benchmarks.run

.venv-bench/ready: pyproject.toml benchmarks/constraints.txt
	$(PYTHON) -m venv .venv-bench
	$(BENCH)/pip install --quiet --disable-pip-version-check -c benchmarks/constraints.txt -e . $(PEERS)
	-$(BENCH)/pip install --quiet --disable-pip-version-check -c benchmarks/constraints.txt contextualbandits
	touch $@

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[lab,cluster,dev]'
	touch $@

clean:
	rm -rf .venv .venv-bench
