# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
# A process a core. worksteal: contiguous runs of tests, so that a module's fixtures are mostly made once.
CORES  := -n auto --dist worksteal
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test lint types check coverage docs release clean

demo: $(STAMP)  ## the main job: exact, heuristic and learned answers with their gaps, and an HTML report
	$(BIN)/mlsched bench quick --workers 2 --html report/quick.html
	@echo "report: report/quick.html"

test: $(STAMP)  ## all tests, on all cores
	$(BIN)/python -m pytest $(CORES)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

check: lint types docs test  ## what continuous integration does

coverage: $(STAMP)
	$(BIN)/python -m pytest $(CORES) --cov --cov-report=term-missing

release: $(STAMP)  ## wheel and sdist into dist/, checked, installed into empty environments and used there
	$(BIN)/python release/check.py --keep dist

# --fresh-env: builds that reuse an environment lose the search keywords of unchanged pages.
docs: $(STAMP)  ## the documentation site in build/site, without network; a warning is an error
	$(BIN)/python -m sphinx --builder html --fresh-env --quiet --fail-on-warning --keep-going docs build/site
	@echo "site: build/site/index.html"

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) report build .pytest_cache .mypy_cache .ruff_cache .hypothesis
