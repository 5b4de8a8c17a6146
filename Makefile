# make demo   sets up and runs the main job on the embedded log
# make test   sets up and runs the tests
# make quick  the tests that train nothing, start no processes and open no browser: about a minute
# make docs   builds the documentation as a site, with search and a reference, into site/, and follows its links
# make torture  kills runs and fills disks, for MINUTES=30: what goes on from there must come to the same
# make soak   small evaluations over and over, for MINUTES=30: nothing may grow
# make versions  the quick tests with the oldest and with the newest allowed versions of everything
# make lock   requirements-dev.lock, with hashes (needs uv), and ropeval.cdx.json, the bill of materials
# make fuzz   damages files and reads them, for SECONDS=600, from SEED; what breaks a promise goes to fuzz-crashers;
#             with RECORD=tests/fuzz/record.json counts add up, and the next one goes on where this one was stopped
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready

SECONDS ?= 600
MINUTES ?= 30

# Python keeps what it compiled: two processes would rewrite every test's assertions again in each run.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick check docs bench fuzz torture soak versions lock clean

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
	$(BIN)/python -m tests.fuzz.campaign --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) --out fuzz-crashers \
	  $(if $(RECORD),--record $(RECORD))

torture: $(READY)
	$(BIN)/python -m tests.torture.campaign --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) --out torture-failures

soak: $(READY)
	$(BIN)/python -m tests.soak.campaign --minutes $(MINUTES)

versions: $(READY)
	$(BIN)/python scripts/versions.py oldest newest

lock: $(READY)
	uv pip compile --quiet --generate-hashes --no-emit-index-url --universal --python-version 3.11 --extra dev \
	  --custom-compile-command 'make lock' pyproject.toml --output-file requirements-dev.lock
	$(BIN)/python scripts/bill_of_materials.py requirements-dev.lock ropeval.cdx.json

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
