# make demo: see MODAK answer a real request.   make test: check everything.   make help: the rest.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
DEMO := build/demo
# Without compiled files each command that a test starts compiles all it imports anew, which takes longer than the command.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test pytest test-deps lint format golden lock bundle clean

help: ## these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

demo: .venv/runtime ## install MODAK in .venv, fill a database, answer examples/3dgan-supermuc-ng.json
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	@env -u MODAK_SERVER -u MODAK_CONFIG MODAK_DATABASE_URL=sqlite:///$(DEMO)/modak.db $(BIN)/modak optimise examples/3dgan-supermuc-ng.json --output $(DEMO)/job
	@printf '\nThis was examples/3dgan-supermuc-ng.json, answered by $(BIN)/modak. Your own: docs/first-steps.md\n'

test: lint pytest ## lint, types and every test; with CI=true the real components are installed first

# One process more than there are cores, because tests of real components mostly wait.
pytest: .venv/dev $(if $(filter true,$(CI)),test-deps)
	$(BIN)/pytest --numprocesses=$$(($$(nproc) + 1)) --maxprocesses=4

test-deps: ## install Slurm, Grid Engine, Charliecloud, Apptainer, MPI and PostgreSQL system-wide (Debian, as root)
	bash tests/e2e/provision.sh

lint: .venv/dev ## style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/dev ## put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

golden: .venv/dev ## write reference files of the tests and printed examples anew; read the difference before you keep it
	set -e; for module in golden.scripts.jobs golden.recipes.plans golden.headers.written test_pictures test_readme test_first_steps sizing.test_page; \
		do $(BIN)/python -m tests.$$module; done

lock: .venv/dev ## resolve the dependencies of pyproject.toml anew into requirements/
	$(LOCK) --extra postgres --extra oidc --extra plot --output-file requirements/runtime.txt
	$(LOCK) --all-extras --output-file requirements/dev.txt
LOCK = $(BIN)/uv --no-config pip compile pyproject.toml --quiet --upgrade --group build --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-annotate --no-header

bundle: .venv/dev ## pack MODAK and all it needs for a machine that reaches no package index: build/modak-bundle.tar
	@rm -rf $(BUNDLE) && mkdir -p $(BUNDLE)/wheels
	$(BIN)/hatchling build --target wheel --directory $(BUNDLE)/wheels >/dev/null
	$(PIP) download --require-hashes --no-deps --only-binary :all: --dest $(BUNDLE)/wheels -r requirements/runtime.txt
	@cp deploy/modak.service deploy/modak-builds.conf $(BUNDLE) && cp deploy/bundle-install.sh $(BUNDLE)/install.sh
	@cd $(BUNDLE) && sha256sum modak.service modak-builds.conf wheels/* >SHA256SUMS
	@tar -cf $(BUNDLE).tar -C $(dir $(BUNDLE)) $(notdir $(BUNDLE)) && rm -rf $(BUNDLE) && ls -sh $(BUNDLE).tar
BUNDLE := build/modak-bundle

clean: ## remove what make made
	rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache

# The lock files hold everything that is needed, so pip resolves nothing (--no-deps). With --no-compile it takes two thirds
# of the time; Python compiles what is used, when it is used.
.venv/%: requirements/%.txt pyproject.toml | .venv/bin/pip
	$(PIP) install --no-compile --require-hashes --no-deps -r requirements/$*.txt
	$(PIP) install --no-compile --no-build-isolation --no-deps -e .
	@touch $@

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "MODAK needs Python 3.11 or later: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv .venv
