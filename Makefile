# SPDX-License-Identifier: MIT
# One command does everything: `make reproduce`. `make` alone lists the targets.
PYTHON ?= python3
BIN := .venv/bin
# or else each of thousands of processes compiles the modules anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help host env images what-boots release quick reproduce everything test test-reach trial trial-ns2 trial-crosscheck trial-realtime trial-fuzz trial-long-runs trial-mutants trial-identity trial-recorded trial-modes trial-rivals lint bench lock clean

help:  ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 14

host:
	@$(PYTHON) -m engine.doctor --install

env: host .venv/installed  ## host packages, where allowed, and the Python environment in .venv, exactly as locked

.venv/locked: requirements.lock
	@test ! -e .venv || test -e .venv/locked || test -e .venv/made-by-make || \
	  { echo "error: .venv was not made by \`make env\`, which would replace it: move it away" >&2; exit 1; }
	@echo "environment: installing $$(grep -c == requirements.lock) Python packages (a minute)"
	@$(PYTHON) -m venv --clear .venv
	@touch .venv/made-by-make
	@$(BIN)/pip install --quiet --require-hashes --requirement requirements.lock
	@touch $@

.venv/installed: .venv/locked pyproject.toml $(wildcard analysis/capture/*.[ch])
	@echo "environment: installing the project itself"
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

release: .venv/installed  ## wheels of testbed and observer, a pack of each of CLIENTS and of labs (LAB=1), and sums, signed with KEY
	$(BIN)/python -m testbed.release $(CLIENTS) $(if $(LAB),--lab) $(if $(KEY),--sign $(KEY))

images: host  ## what guests boot (into cache/); with DEBUG=1 also the kernel of the module's tests, with LAB=1 of `testbed exec`
	@$(MAKE) --no-print-directory --jobs 2 .venv/installed what-boots
	@$(BIN)/python -m images $(if $(DEBUG),--debug) $(if $(LAB),--lab)

what-boots:
	@$(PYTHON) -m images.boot

# the kernels that these need besides
test trial-mutants: DEBUG = 1
test test-reach: LAB = 1

quick: images  ## set-up, the four papers with one seed of each cell, and the report
	$(BIN)/snakemake --cores all quick

reproduce: images  ## the same with the seeds that decide, compared with the reference set
	$(BIN)/snakemake --cores all
	$(BIN)/python -m analysis diff --results results --reference workflows/reference

everything: images  ## also today's networks, and the experiments behind causes
	$(BIN)/snakemake --cores all everything

test: images  ## all tests, a process per processor; a file's tests stay together
	@$(PYTHON) -m engine.doctor --install-for-tests
	$(BIN)/pytest --numprocesses logical --dist loadfile --no-loadscope-reorder --durations 20 --durations-min 10

test-reach: images  ## backends, containers, provisioning and clusters; installs what it can, and skips what lacks the rest
	@$(PYTHON) -m engine.doctor --install-for-reach
	@$(BIN)/pip install --quiet --requirement tests/reach/requirements.txt || echo "some tests will be skipped" >&2
	@$(BIN)/python -m images --stock || echo "some tests will be skipped" >&2
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pytest -rs tests/reach

trial:  ## what takes long, by NAME: see docs/reference/commands.md
	@$(MAKE) --no-print-directory trial-$(NAME)

trial-ns2: .venv/installed
	$(BIN)/python -m testbed.simulator

trial-crosscheck: images
	$(BIN)/python -m images --stock libutp
	$(BIN)/python -m engine.crosscheck workflows/crosscheck*.yaml

trial-realtime: images
	$(BIN)/python -m images libutp
	@mkdir -p results
	$(BIN)/python -m tests.reach.realtime --into results/realtime.json

lint: .venv/installed  ## style, types and prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflows/rules testbed/pipeline.smk
	$(BIN)/codespell $$(git ls-files)
	$(BIN)/proselint check --config .proselint.json $$(git ls-files '*.md' '*.py' '*.smk' '*.yaml' '*.yml')

bench: images  ## speed of guests and of the capture reader, into results/bench.json
	$(BIN)/python -m images libutp transmission-4 libtorrent-2.0
	$(BIN)/python -m engine.bench

trial-fuzz: .venv/installed
	@mkdir -p build
	gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -o build/fuzz_records tests/analysis/fuzz_records.c
	build/fuzz_records tests/analysis/data/fuzz.pcap 10000000
	$(BIN)/python -m tests.trust.fuzz --seconds 3600

trial-long-runs: images
	$(BIN)/python -m tests.trust.long_runs 10000

trial-mutants: images
	$(BIN)/python -m tests.tcp_ledbat.mutants tcp_ledbat
	$(BIN)/python -m tests.tcp_ledbat.mutants tcp_rledbat

trial-identity: images
	$(BIN)/python -m images --all
	$(BIN)/python -m tests.trust.identity

trial-recorded: images
	$(BIN)/python -m images --all
	$(BIN)/python -m tests.trust.recorded

trial-modes: images
	$(BIN)/python -m images --all
	$(BIN)/python -m tests.trust.modes

trial-rivals: host images
	$(BIN)/python -m images libutp
	$(BIN)/python -m tests.workflows.rivals results/rivals
	$(BIN)/python -m tests.workflows.rivals results/rivals --convention

lock:  ## renew requirements.lock from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --extra pipeline --extra dev --generate-hashes --no-header \
	  --no-annotate --no-emit-index-url --no-emit-find-links --output-file requirements.lock pyproject.toml
	sed --in-place --expression ':again; /\\$$/ { N; s/ *\\\n */ /; b again }' requirements.lock  # a line for each package

clean:  ## remove results, environment and build leftovers; cache/ stays (rm -r cache for that too)
	rm -rf results .venv build dist *.egg-info .snakemake .pytest_cache .mypy_cache .ruff_cache
