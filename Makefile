PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Hundreds of processes of the tests would each compile what they import.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup clients browser demo test test-all attack screenshots lint types contracts bench manifest docs clean

help:
	@echo "make demo       set up, then show the whole path on a real kernel"
	@echo "make test       set up, then run the tests to trust a change by, in about six minutes on two cores"
	@echo "make test-all   run the others: all of the browser, notebooks, docs, examples, races, laws at length, the attack, pytest 8"
	@echo "make attack     make 100,000 hostile calls and search every byte that leaves: SEED=1 COUNT=100000"
	@echo "make clients    install the npm clients that some tests run; they do it themselves too"
	@echo "make browser    install what the browser tests need: Chromium (apt, as root), axe-core (npm)"
	@echo "make lint       ruff, format and lint"
	@echo "make types      pyright, strict on the package"
	@echo "make contracts  import-linter: imports go down the layers only"
	@echo "make bench      write docs/figures.md, and its headlines into the README"
	@echo "make screenshots  the README's pictures, from the example notebook"
	@echo "make docs       write the generated parts: manifest and the tables of the pages"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip --constraint constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all]' --group dev
	@touch $@

clients:
	$(PYTHON) tests/clients/install.py

browser:
	$(PYTHON) tests/browser/install.py

demo: $(READY)
	$(BIN)/repl-pair demo

# Tests wait as much as they work, so three share two cores; the one that counts what a page meets is alone.
ALONE := tests/browser/test_explorer_at_size.py
# A worker takes a file at a time, in the order of their names: the last ones are short.
SHARED := --dist loadfile --no-loadscope-reorder
# More arguments for pytest, e.g. ARGS=--shuffle=7
ARGS :=
PYTEST := $(BIN)/python -m pytest $(ARGS)

# tests/suite/parts.py says which tests are in which of the two parts.
# Where the browser cannot be installed its tests are skipped; not so where CI is set.
test: $(READY)
	$(PYTHON) tests/browser/install.py || test -z "$$CI"
	$(PYTEST) -m "not full" --numprocesses 3 $(SHARED)

# Laws of Hypothesis are in both parts: `make test` tries each with few examples.
# The plugin holds under the pytest before this one too.
test-all: $(READY)
	$(PYTHON) tests/browser/install.py || test -z "$$CI"
	$(BIN)/python -m pip install --quiet --upgrade --no-deps --target .pytest-asyncio pytest-asyncio
	$(PYTEST) -m "full or hypothesis" --numprocesses 3 $(SHARED) --ignore $(ALONE)
	$(PYTEST) $(ALONE)
	$(BIN)/python -m pip install --quiet --upgrade --target .pytest8 pytest==8.4.2
	PYTHONPATH=.pytest8 $(PYTEST) tests/pytest_plugin/test_collecting.py \
	  tests/pytest_plugin/test_choosing.py tests/pytest_plugin/test_running.py

SEED := 1
COUNT := 100000

attack: $(READY)
	$(BIN)/python tests/attack/run.py --seed $(SEED) --count $(COUNT)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/pyright

contracts: $(READY)
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python tests/bench/run.py --write

screenshots: $(READY)
	$(BIN)/python tests/browser/screenshots.py

docs: $(READY)
	$(BIN)/python -m repl_pair.bridge.build_manifest --write
	$(BIN)/python tests/docs/tables.py --write

clean:
	rm -rf $(VENV) .pytest8 .pytest-asyncio build dist tests/clients/node_modules tests/browser/node_modules .pytest_cache .ruff_cache .hypothesis .import_linter_cache
