# make demo   sets up and runs the main job on the embedded log
# make test   sets up and runs the tests
# make quick  the tests that train nothing, start no processes and open no browser: about a minute
# make docs   builds the documentation as a site, with search and a reference, into site/, and follows its links
# make fuzz   damages files and reads them, for SECONDS=600, from SEED; what breaks a promise goes to fuzz-crashers
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready

SECONDS ?= 600

.PHONY: demo test quick check docs bench fuzz clean

demo: $(READY)
	$(BIN)/ropeval demo --out demo-result --overwrite

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist=worksteal

quick: $(READY)
	$(BIN)/python -m pytest -n 2 --dist=worksteal -m 'not training and not process and not browser'

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --site-dir site
	$(BIN)/python scripts/check_site.py site

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz.campaign --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) --out fuzz-crashers

bench: $(READY)
	$(BIN)/python benchmarks/speed.py --peer
	$(BIN)/python benchmarks/tabular.py

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ropeval needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

clean:
	rm -rf site $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-result
