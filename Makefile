# Lockstep. Every target does its own set-up in .venv and does nothing twice.
#
#   make up                      the demo on http://127.0.0.1:8000
#   make up TRACE=FILE SPEED=60  the same on a public trace, sixty times faster than life
#   make test                    the test suite on SQLite, or on DATABASE_URL and REDIS_URL where they are set

.DEFAULT_GOAL := help
.PHONY: help up test lint bench lock clean venv runtime tools

# The first Python on the path that is new enough; name another with PYTHON=...
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
PY := .venv/bin/python
# Modules are compiled when they are first imported: most never are, and it halves the installation.
PIP := $(PY) -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes
TESTS ?= tests
WORKERS ?= 2

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  Variables: PORT, TRACE, SPEED, DATABASE_URL, REDIS_URL, LOCKSTEP_DATA, PYTHON, TESTS, WORKERS"

up: runtime ## Start Lockstep with its demo cluster; Ctrl-C stops all of it
	@exec $(PY) manage.py up $(if $(TRACE),--trace "$(TRACE)") $(if $(SPEED),--speed "$(SPEED)")

test: tools ## Run the tests (TESTS=path for a part, WORKERS=n processes)
	@exec $(PY) -m pytest -n $(WORKERS) --dist worksteal $(TESTS)

lint: tools ## Style, types of the pure core, import rules, missing migrations
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports --no-cache
	$(PY) manage.py makemigrations --check --dry-run

bench: runtime ## Measure: replay speed, tick time and page time at 10,000 GPUs
	@exec $(PY) manage.py bench

lock: tools ## Renew both lock files (needs uv)
	uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-find-links pyproject.toml -o requirements.lock
	uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-find-links pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock

clean: ## Remove .venv and the caches; the data directory stays
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis

# --- Set-up. The lock that was installed last is kept in .venv: equal content means nothing to do. ---------
venv:
	@if [ -e .venv ] && ! $(PY) -c 'import sys, importlib.util as u; sys.exit(sys.version_info < (3, 11) or not u.find_spec("pip"))' 2>/dev/null; then \
		echo "Lockstep: .venv is incomplete or older than Python 3.11; making it anew."; rm -rf .venv; fi
	@[ -e .venv ] || { \
		[ -n "$(PYTHON)" ] || { echo "Lockstep needs Python 3.11 or newer, and none was found on the path." >&2; \
			echo "Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }; \
		"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
			echo "Lockstep needs Python 3.11 or newer; PYTHON=$(PYTHON) is not." >&2; exit 1; }; \
		"$(PYTHON)" -m venv .venv || { rm -rf .venv; \
			echo "Lockstep: $(PYTHON) cannot make a virtual environment (on Debian: apt install python3-venv)." >&2; \
			exit 1; }; }

runtime: venv
	@cmp -s requirements.lock .venv/requirements.lock || { \
		echo "Lockstep: installing its packages into .venv; about a minute, only this once."; \
		$(PIP) -r requirements.lock && cp requirements.lock .venv/; }

# The second lock holds the first, at the same versions.
tools: venv
	@cmp -s requirements-dev.lock .venv/requirements-dev.lock || { \
		echo "Lockstep: installing its packages and test tools into .venv; about a minute, only this once."; \
		$(PIP) -r requirements-dev.lock && cp requirements.lock requirements-dev.lock .venv/; }
