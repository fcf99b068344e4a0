# `make help` lists what there is. Everything is installed into .venv of this folder; nothing global is touched.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help check up down night test soak lint types engine browser unit docs bench lock clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run-installed
DEV := $(VENV)/.dev-installed
SECONDS_SO_FAR = $$(( $$(date +%s) - started ))

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

check: $(RUN) ## say what the example regions would make, cost, and which rules hold
	@$(BIN)/accelform check

up: $(RUN) ## bring the shop's two regions up on this machine, in a local Google Cloud
	@$(BIN)/accelform up asia-east1 us-east5

down: $(RUN) ## take away what `make up` made
	@$(BIN)/accelform down

night: $(DEV) ## one night of the example shop on this machine: train, judge, roll out, ask
	@$(BIN)/accelform jobs run train-recommender --stack asia-east1 --here \
	  --ask '{"user": "u1"}' --ask '{"user": "u2"}' --ask '{"history": ["p3", "p7"]}'

# Types take one core for a minute: they are looked at while the tests begin, and what is said of them comes after the tests.
test: $(DEV) ## all that CI runs, fast to slow
	@started=$$(date +%s); $(MAKE) --no-print-directory lint engine browser; \
	  said=$$(mktemp); trap 'rm -f "$$said"' EXIT; \
	  $(MAKE) --no-print-directory types >"$$said" 2>&1 & types=$$!; \
	  passed=0; $(MAKE) --no-print-directory unit || passed=$$?; \
	  wait $$types || passed=$$?; echo "types of the code:"; cat "$$said"; \
	  [ $$passed = 0 ] || exit $$passed; \
	  echo "make test: all passed in $(SECONDS_SO_FAR) s"

lint: $(DEV) ## style of the code
	@$(BIN)/ruff check . || { echo "fix: $(BIN)/ruff check --fix ."; exit 1; }
	@$(BIN)/ruff format --check --quiet . || { echo "fix: $(BIN)/ruff format ."; exit 1; }

types: $(DEV) ## types of the code
	@$(BIN)/mypy

engine: $(DEV) ## the Pulumi engine for the tests: found, fetched, or built from Go once, into the user's cache folder
	@$(BIN)/python -m infra.local.engine.build || [ $$? = 5 ] && true

# Never fails by itself: without a browser one test is skipped, and says so.
browser: ## a Chromium for the test of the report's pages: found, or installed where apt-get may
	@found() { command -v chromium || command -v chromium-browser || command -v google-chrome; }; \
	  if path=$$(found); then echo "browser for the report's pages: $$path"; \
	  elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    echo "installing the package chromium by apt-get, for the test of the report's pages (about a minute)"; \
	    { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends chromium; } >/dev/null 2>&1 || true; \
	    if path=$$(found); then echo "browser for the report's pages: $$path"; else echo "it could not be installed: the browser's test of the pages will be skipped"; fi; \
	  else echo "no Chromium here, and none can be installed without root and apt-get: the browser's test of the pages will be skipped"; fi

# Bytecode anew where the code changed since it was installed: hundreds of processes start in the tests. One test at a time to each worker.
unit: $(DEV) ## the tests
	@$(BIN)/python -m compileall -q infra workloads
	@$(BIN)/python -m pytest -n 2 --maxschedchunk 1 --inline-snapshot=disable

soak: $(DEV) engine ## the long runs: a kill at every call, properties by ten times as many examples, before a release
	@$(BIN)/python -m pytest -m 'soak or hypothesis' --hypothesis-profile soak -p no:randomly

docs: $(DEV) ## write the generated parts of the documents and the schema anew
	@$(BIN)/python tools/docs.py

bench: $(DEV) engine ## how fast the commands, a region on this machine, the sandbox and training are
	@$(BIN)/python tools/bench.py
	@$(BIN)/python tools/bench_engine.py
	@$(BIN)/python tools/bench_workloads.py

lock: $(DEV) ## resolve the dependencies anew (needs uv)
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements/run.lock
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra dev -c requirements/run.lock pyproject.toml -o requirements/dev.lock
	@tested=$$(mktemp); trap 'rm "$$tested"' EXIT; \
	  uv pip compile --quiet --no-deps --python-version 3.11 --no-header --no-annotate requirements/dev.lock -o "$$tested"; \
	  for image in serve train tf runner; do \
	    uv pip compile --quiet --python-version 3.12 --python-platform x86_64-manylinux_2_31 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	      $$([ $$image = runner ] || echo -c "$$tested") workloads/images/$$image/requirements.in -o requirements/image-$$image.lock; \
	  done

clean: ## remove what make made in this folder
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "accelform needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) -V). Say another: make PYTHON=python3.12"; exit 5; }
	@$(PYTHON) -m venv $(VENV)

# Wheels only by hash; bytecode is compiled now, so that the first command is as fast as the next.
$(RUN): requirements/run.lock pyproject.toml | $(BIN)/python
	@started=$$(date +%s); echo "installing accelform into $(VENV) (about a minute the first time)"; \
	  $(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements/run.lock; \
	  $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .; \
	  $(BIN)/python -m compileall -q infra workloads; \
	  touch $(RUN); echo "installed in $(SECONDS_SO_FAR) s"

$(DEV): requirements/dev.lock $(RUN) | $(BIN)/python
	@started=$$(date +%s); echo "installing the test tools into $(VENV)"; \
	  $(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements/dev.lock; \
	  touch $(DEV); echo "installed in $(SECONDS_SO_FAR) s"
