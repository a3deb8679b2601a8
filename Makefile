# `make` computes everything, `make test` checks what a change can break, `make test-all` the rest: no test is in both.
.DEFAULT_GOAL := all
SHELL := /bin/bash

# The newest Python that is known to work: one that runs (a version manager's shim may not) and can make environments.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && command -v $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
CORES ?= all

# What needs system packages, a browser, Slurm, other Pythons or much time. These tests wait for each other in groups.
LONG := slow or workflow or browser
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadgroup

.PHONY: all test test-all lint docs clean

all: $(VENV)/installed
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/snakemake --cores $(CORES)

test: $(VENV)/installed-dev
	PATH="$(abspath $(BIN)):$$PATH" $(MAKE) --no-print-directory lint
	PATH="$(abspath $(BIN)):$$PATH" JOULELOOP_NO_INSTALL=1 $(PYTEST) -m "not ($(LONG))"

test-all: $(VENV)/installed-dev
	PATH="$(abspath $(BIN)):$$PATH" $(PYTEST) -m "$(LONG)"

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/snakemake --lint
	$(BIN)/mypy

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "error: no Python of at least 3.11 that can make virtual environments was found;" \
		"on Debian and Ubuntu: apt install python3-venv; or name one: make PYTHON=/path/to/python3" >&2; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is older than 3.11; name a newer one: make PYTHON=/path/to/python3" >&2; exit 2; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "error: $(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 2; }
	"$(PYTHON)" -m venv $(VENV)

# Reinstalled when the dependencies change. The kernels are compiled once here instead of in the first jobs at the same time.
$(VENV)/installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	$(BIN)/jouleloop doctor --warm
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

# The documentation as a site, in site/.
docs: $(VENV)/installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf results .snakemake
