# Both commands set up everything they need in .venv; nothing is installed elsewhere.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: run test format clean

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

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[lab,cluster,dev]'
	touch $@

clean:
	rm -rf .venv
