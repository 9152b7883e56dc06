# Every command sets up everything it needs in .venv (bench, soak: .venv-bench, .venv-soak); test-browser installs a browser.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# What is installed, as a number: set up again when it changes, not when anything else in pyproject.toml does.
WANTED := $(shell cat constraints.txt pyproject.toml | sed '/^\[tool/,$$d' | cksum | cut -d' ' -f1)
READY := .venv/ready-$(WANTED)
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

# Compiled code is kept, whatever the environment says: compiling anew doubles what a short run takes to start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-fast test-kernels test-browser soak docs bench format clean

run: $(READY)
	$(BIN)/python -m paper main

# The fast part of test-kernels: what learns, explores and chooses.
KERNELS := tests/test_posterior.py tests/test_exploration.py tests/test_choice.py tests/test_optimism.py \
	tests/test_combinatorial.py tests/policies/test_mogro.py \
	"tests/test_documents.py::test_code[docs/howto/combinatorial.md]"

test: $(READY)-for-tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy
	$(BIN)/pytest -n auto --dist worksteal
	$(BIN)/python -m tests.kernels --others -m "not slow" $(KERNELS)

# For every day: what takes long is left out (of paper, league and journals, everything), and properties are tried
# on few examples.
test-fast: $(READY)-for-tests
	$(BIN)/pytest -n auto --dist worksteal -m "not slow" --hypothesis-profile fast tests src \
		--ignore=tests/paper --ignore=tests/league --ignore=tests/agent/journal

# All that looks at numbers, as other processors would compute them.
test-kernels: $(READY)-for-tests
	$(BIN)/python -m tests.kernels -m numeric

# The page of the service in a real browser: Debian's, installed where it is missing.
test-browser: $(READY)-for-tests
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		{ apt-get update -qq && apt-get install -qq --no-install-recommends chromium chromium-driver; }
	$(BIN)/pytest tests/service/test_browser.py

# The service killed, overloaded and fuzzed: an hour or two.
soak: $(READY)-for-tests .venv-soak/bin/schemathesis
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.fuzz $(CURDIR)/.venv-soak/bin/schemathesis

.venv-soak/bin/schemathesis:
	$(PYTHON) -m venv .venv-soak
	.venv-soak/bin/pip install --quiet --disable-pip-version-check schemathesis

docs: $(READY)-for-docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "The site: docs/_build/html/index.html"

format: $(READY)-for-tests
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

$(READY):
	@echo "Setting up .venv: 360 MB and half a minute to two, once."
	$(PYTHON) -m venv .venv
	$(INSTALL) -e '.[plots]'
	@touch $@

$(READY)-for-tests: | $(READY)
	@echo "Adding what the tests need: 650 MB and half a minute to two, once."
	$(INSTALL) -e '.[plots,cluster,frames,logs,postgres,serve,dev]'
	@touch $@

$(READY)-for-docs: | $(READY)
	$(INSTALL) -e '.[plots,serve,docs]'
	@touch $@

clean:
	rm -rf .venv .venv-bench .venv-soak docs/_build
