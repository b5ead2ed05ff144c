# Two commands do all: `make sweep` runs the main job, `make test` runs the tests.
# Both make .venv first; PYTHON picks the interpreter it is made from.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Few threads per process: trials run side by side, and two intra-op threads on two busy cores
# are ten times slower than one.
export OMP_NUM_THREADS := 1

.PHONY: sweep test check format screenshots clean

sweep: $(READY)
	$(BIN)/fxrace sweep --gpus 8 $(SWEEP)

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal $(TESTS)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# docs/screenshots anew, from a real sweep and a real matrix; needs Chromium.
screenshots: $(READY)
	$(BIN)/python scripts/screenshots.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "fxrace needs Python 3.10 or newer; set PYTHON=/path/to/it")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[torch,dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
