# make demo     builds the demonstration corpus end to end
# make test     answers "does it work here?" by the tests that reach most of covmis in two minutes
# make test-all runs every test, style and types: what continuous integration runs
# make docs     builds the documentation as a site (build/docs)
# make services sets up what the rest of the tests need (each part cached)
PYTHON ?= python3
BIN = .venv/bin
READY = .venv/.ready
# uv does not read pip's settings; hand it the index that pip is set up with, whatever that is.
INDEX = $$($(PYTHON) -m pip config get global.index-url 2>/dev/null || echo "$$PIP_INDEX_URL")

# make audit    compares the locked packages with the package index's advisories of this day; fails where it has none
# make fuzz     tries ten thousand damaged inputs (EACH=100000 for more), then lets Atheris look for SECONDS (600)
# Tests start the program some hundred times: what Python has compiled is kept, even where an image says otherwise.
unexport PYTHONDONTWRITEBYTECODE
RUN_TESTS = $(BIN)/python -m pytest -q -p tests.first -p tests.screen -n auto --dist worksteal -m "not long"

.PHONY: demo docs test test-all test-long fuzz services lint lock audit clean

demo: $(READY)
	@$(BIN)/python -m tests.demonstration.build

ifeq ($(CI),true)
test: test-all
else
test: $(READY)
	@echo "Does covmis work on this machine? Running the tests of tests/first.txt; nothing is sent anywhere"
	@$(RUN_TESTS) $(or $(TESTS),--only=tests/first.txt)
endif

test-all: $(READY)
	@echo "Checking style and types, then running every test that this machine can run"
	@$(BIN)/ruff check -q . && $(BIN)/ruff format -q --check .
	@$(BIN)/mypy
	@$(RUN_TESTS) $(TESTS)

test-long: $(READY)
	@$(BIN)/python -m pytest -q -m long $(TESTS)

fuzz: $(READY)
	@COVMIS_FUZZ=$(or $(EACH),10000) $(BIN)/python -m pytest -q tests/fuzz
	@$(BIN)/python -m tests.fuzz.guided $(or $(SECONDS),600)

docs: $(READY)
	@$(BIN)/python -m tests.services docs
	@$(BIN)/python -m tests.site

services: $(READY)
	@$(BIN)/python -m tests.services

lint: $(READY)
	$(BIN)/ruff check --fix . && $(BIN)/ruff format . && $(BIN)/mypy

$(READY): pyproject.toml requirements/core.lock requirements/installer.lock
	@echo "Setting up .venv (once; about a minute)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/installer.lock
	@UV_DEFAULT_INDEX="$(INDEX)" $(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements/core.lock
	@$(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

lock: $(READY)
	@UV_DEFAULT_INDEX="$(INDEX)" $(BIN)/uv pip compile -q --universal --generate-hashes --no-annotate --no-header \
	  --group dev --python-version 3.11 --upgrade pyproject.toml -o requirements/core.lock

	@UV_DEFAULT_INDEX="$(INDEX)" $(BIN)/uv pip compile -q --universal --generate-hashes --no-annotate --no-header \
	  --group pyproject.toml:docs -c requirements/core.lock --python-version 3.11 --upgrade -o requirements/docs.lock
	@echo "label-studio-sdk>=2.0.19" | UV_DEFAULT_INDEX="$(INDEX)" $(BIN)/uv pip compile -q --universal --generate-hashes --no-annotate \
	  --no-header -c requirements/core.lock --python-version 3.11 --upgrade - -o requirements/label-studio-sdk.lock

# --strict: an index without advisories of a package would otherwise count as one without hits.
LOCKS ?= requirements/*.lock
audit:
	@$(PYTHON) -m venv .venvs/audit
	@.venvs/audit/bin/python -m pip install -q --disable-pip-version-check pip-audit==2.10.1
	@for lock in $(LOCKS); do echo "$$lock"; \
	  .venvs/audit/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off -r $$lock || exit 1; done
	@echo "Advisories of the package index as of $$(date -u +%F)."

clean:
	rm -rf build .venv .venvs .pytest_cache .mypy_cache .ruff_cache data/build data/release
