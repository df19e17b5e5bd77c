PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup clients browser demo test pytest8 screenshots lint types contracts bench manifest docs clean

help:
	@echo "make demo       set up, then show the whole path on a real kernel"
	@echo "make test       set up, then run every test"
	@echo "make clients    install the npm clients that some tests run; they do it themselves too"
	@echo "make browser    install what the browser tests need: Chromium (apt, as root), axe-core (npm)"
	@echo "make pytest8    run the plugin's tests under pytest 8"
	@echo "make lint       ruff, format and lint"
	@echo "make types      pyright, strict on the package"
	@echo "make contracts  import-linter: imports go down the floors only"
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

# Most tests wait as much as they work, so three share two cores. What kernels do is bounded in time:
# those tests have a core each, and the one that measures frames has the machine.
KERNELS := tests/kernel
FRAMES := tests/browser/test_explorer_at_size.py
# A worker takes a file at a time, in the order of their names: the last ones are short.
SHARED := --dist loadfile --no-loadscope-reorder

# Where the browser cannot be installed its tests are skipped; not so where CI is set.
test: $(READY)
	$(PYTHON) tests/browser/install.py || test -z "$$CI"
	$(BIN)/python -m pytest --numprocesses 3 $(SHARED) --ignore $(KERNELS) --ignore $(FRAMES)
	$(BIN)/python -m pytest --numprocesses 2 $(SHARED) $(KERNELS)
	$(BIN)/python -m pytest $(FRAMES)

# The plugin holds under the pytest before this one too.
pytest8: $(READY)
	$(BIN)/python -m pip install --quiet --upgrade --target .pytest8 pytest==8.4.2
	PYTHONPATH=.pytest8 $(BIN)/python -m pytest tests/pytest_plugin/test_collecting.py \
	  tests/pytest_plugin/test_choosing.py tests/pytest_plugin/test_running.py

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
	rm -rf $(VENV) .pytest8 build dist tests/clients/node_modules tests/browser/node_modules .pytest_cache .ruff_cache .hypothesis .import_linter_cache
