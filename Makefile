# `make` computes everything, `make test` checks what a change can break, `make test-all` the rest: no test is in both.
.DEFAULT_GOAL := all
SHELL := /bin/bash

# A Python that runs (a version manager's shim may not) and can make environments; the newest that has a wheel of every package first.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3.14 python3; do \
	$$p -c 'import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' >/dev/null 2>&1 && command -v $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
# Versions and hashes of all that is installed. `make LOCK=` takes the newest that pyproject.toml allows instead.
LOCK ?= requirements
PIP := -m pip install --quiet --disable-pip-version-check
# A lock is complete. Python compiles what is imported, when it is: less than what is installed.
LOCKED := $(PIP) --no-deps --no-compile --require-hashes -r
# Images set it; then each process would compile anew all that it imports.
unexport PYTHONDONTWRITEBYTECODE
RELEASE := .venv-release
CORES ?= all

# What needs system packages, a browser, Slurm, other Pythons or much time.
LONG := slow or workflow or browser
# Tests of one file share what they set up and wait for each other; `tests/conftest.py` puts long ones first.
SPREAD := -n 2 --dist loadfile --no-loadscope-reorder
PYTEST := $(BIN)/python -m pytest $(SPREAD)

.PHONY: all test fast test-all test-faults test-lowest test-newest lint style types docs lock licences release clean

all: $(VENV)/installed
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/snakemake --cores $(CORES)

# One core checks types, the other compiles the kernels and begins with the tests. Without a lock the package is installed again.
test: $(if $(LOCK),$(VENV)/packages,$(VENV)/installed-dev)
	PATH="$(abspath $(BIN)):$$PATH" $(MAKE) --no-print-directory -j 2 types fast

fast: style $(VENV)/installed
	MAKEFLAGS= JOULELOOP_NO_INSTALL=1 $(PYTEST) -m "not ($(LONG))"

test-all: $(VENV)/installed $(VENV)/installed-dev
	PATH="$(abspath $(BIN)):$$PATH" $(PYTEST) -m "$(LONG)"

# Kills, flipped bits, full disks, limits and mutated files, drawn at random. SEED=… draws the same again.
test-faults: $(VENV)/installed $(VENV)/installed-dev
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tests/faults/run.py --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

# The fast tests with the lowest versions that pyproject.toml allows, under the lowest Python; what they warn of is not
# ours. `make test-all` compares tables made with them (tests/workflow/test_declared_versions.py).
test-lowest:
	rm -rf .venv-lowest && python3.11 -m venv .venv-lowest
	.venv-lowest/bin/python tests/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python $(PIP) -c .venv-lowest/lowest.txt -e '.[dev]'
	PYTHONWARNINGS=ignore PATH="$(CURDIR)/.venv-lowest/bin:$$PATH" JOULELOOP_NO_INSTALL=1 .venv-lowest/bin/python \
		-m pytest $(SPREAD) -W default --disable-warnings -m "not ($(LONG))"

# The newest versions that pyproject.toml allows, in an environment of their own.
test-newest:
	rm -rf .venv-newest
	$(MAKE) VENV=.venv-newest LOCK= test

# The longer one first.
lint: types style

style: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/snakemake --lint
	$(BIN)/python tests/check_docs.py

types: $(VENV)/installed-dev
	$(BIN)/mypy

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "error: no Python from 3.11 to 3.14 that can make virtual environments was found;" \
		"on Debian and Ubuntu: apt install python3-venv; or name one: make PYTHON=/path/to/python3" >&2; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || \
		{ echo "error: $(PYTHON) is not from 3.11 to 3.14; name another one: make PYTHON=/path/to/python3" >&2; exit 2; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "error: $(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 2; }
	"$(PYTHON)" -m venv $(VENV)

# Reinstalled when the dependencies change.
$(VENV)/packages: $(VENV)/bin/python pyproject.toml $(LOCK:%=%/run.lock)
	$(if $(LOCK),$(BIN)/python $(LOCKED) $(LOCK)/run.lock)
	$(BIN)/python $(PIP) $(if $(LOCK),--no-deps --no-build-isolation) -e .
	touch $@

# The kernels are compiled once here instead of in the first jobs at the same time.
$(VENV)/installed: $(VENV)/packages
	$(BIN)/jouleloop doctor --warm
	touch $@

$(VENV)/installed-dev: $(VENV)/packages $(LOCK:%=%/dev.lock)
	$(if $(LOCK),$(BIN)/python $(LOCKED) $(LOCK)/dev.lock,$(BIN)/python $(PIP) -e '.[dev]')
	touch $@

# What makes locks and releases, apart from what is released.
$(RELEASE)/installed: $(VENV)/bin/python requirements/release.lock
	"$(BIN)/python" -m venv $(RELEASE)
	$(RELEASE)/bin/python $(LOCKED) requirements/release.lock
	touch $@

# The newest versions that suit every supported Python.
UV_LOCK = $(RELEASE)/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-header --no-annotate
lock: $(RELEASE)/installed
	$(UV_LOCK) pyproject.toml requirements/build.in -o requirements/run.lock
	$(UV_LOCK) pyproject.toml --extra dev requirements/build.in -c requirements/run.lock -o requirements/dev.lock
	$(UV_LOCK) requirements/release.in -o requirements/release.lock

# An environment with the wheel and what it needs, nothing else.
$(RELEASE)/product: $(RELEASE)/installed $(VENV)/installed pyproject.toml requirements/run.lock $(shell find src -name '*.py')
	rm -rf dist $@ && $(BIN)/python -m hatchling build -d dist
	"$(BIN)/python" -m venv $@
	$@/bin/python $(LOCKED) requirements/run.lock
	$@/bin/python $(PIP) --no-deps dist/*.whl

licences: $(RELEASE)/product
	@$(RELEASE)/bin/pip-licenses --python $</bin/python --from=mixed --order=license --with-urls

# Wheel, source, bill of materials (CycloneDX) and licences.
release: $(RELEASE)/product
	$(RELEASE)/bin/cyclonedx-py environment --output-reproducible --of JSON -o dist/jouleloop.cdx.json $</bin/python
	$(RELEASE)/bin/pip-licenses --python $</bin/python --from=mixed --order=license --with-urls --output-file dist/licences.txt

# The documentation as a site, in site/.
docs: $(VENV)/installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf results .snakemake
