# SPDX-License-Identifier: MIT
# One command does everything: `make reproduce`. `make` alone lists the targets.
PYTHON ?= python3
BIN := .venv/bin
# or else each of thousands of processes compiles the modules anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help host env images what-boots debug-images lab-images release quick reproduce everything test test-reach trial trial-ns2 trial-crosscheck trial-realtime trial-fuzz trial-long-runs trial-mutants trial-identity trial-recorded trial-modes lint bench lock clean

help:  ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 14

host:  ## check the host's packages, install missing ones where allowed
	@$(PYTHON) -m engine.doctor --install

env: .venv/installed  ## Python environment in .venv, exactly as locked

.venv/locked: requirements.lock
	@test ! -e .venv || test -e .venv/locked || test -e .venv/made-by-make || \
	  { echo "error: .venv was not made by \`make env\`, which would replace it: move it away" >&2; exit 1; }
	@echo "environment: installing $$(grep -c == requirements.lock) Python packages (a minute)"
	@$(PYTHON) -m venv --clear .venv
	@touch .venv/made-by-make
	@$(BIN)/pip install --quiet --require-hashes --requirement requirements.lock
	@touch $@

.venv/installed: .venv/locked pyproject.toml $(wildcard analysis/capture/*.[ch])
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

release: env  ## wheels of testbed and observer, a pack of each of CLIENTS and of labs (LAB=1), and sums, signed with KEY
	$(BIN)/python -m testbed.release $(CLIENTS) $(if $(LAB),--lab) $(if $(KEY),--sign $(KEY))

images:  ## guest kernel, root file system, tools and module (into cache/), while the environment is installed
	@$(MAKE) --no-print-directory --jobs 2 env what-boots
	@$(BIN)/python -m images

what-boots:
	@$(PYTHON) -m images.boot

debug-images: env  ## also the kernel with KASAN, lockdep and KUnit, for the module's own tests
	$(BIN)/python -m images --debug

lab-images: env  ## also the kernel and root file system of `testbed exec`
	$(BIN)/python -m images --lab

quick: host images  ## set-up, the four papers with one seed of each cell, and the report
	$(BIN)/snakemake --cores all quick

reproduce: host images  ## the same with the seeds that decide, compared with the reference set
	$(BIN)/snakemake --cores all
	$(BIN)/python -m analysis diff --results results --reference workflows/reference

everything: host images  ## also today's networks, and the experiments behind causes
	$(BIN)/snakemake --cores all everything

test: host debug-images lab-images  ## all tests, a process per processor; a file's tests stay together
	@$(PYTHON) -m engine.doctor --install-for-tests
	$(BIN)/pytest --numprocesses logical --dist loadfile --no-loadscope-reorder --durations 20 --durations-min 10

test-reach: host images lab-images  ## backends, containers, provisioning and clusters, as far as this machine can; half an hour or more
	$(BIN)/pytest -rs tests/reach

trial:  ## what takes long, by NAME: see docs/reference/commands.md
	@$(MAKE) --no-print-directory trial-$(NAME)

trial-ns2: env
	$(BIN)/python -m testbed.simulator

trial-crosscheck: host images
	$(BIN)/python -m images libutp
	$(BIN)/python -m images.stock
	$(BIN)/python -m engine.crosscheck workflows/crosscheck*.yaml

trial-realtime: host images
	$(BIN)/python -m images libutp
	@mkdir -p results
	$(BIN)/python -m tests.reach.realtime --into results/realtime.json

lint: env  ## style, types and prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflows/rules testbed/pipeline.smk
	$(BIN)/codespell $$(git ls-files)
	$(BIN)/proselint check --config .proselint.json $$(git ls-files '*.md' '*.py' '*.smk' '*.yaml' '*.yml')

bench: host images  ## speed of guests and of the capture reader, into results/bench.json
	$(BIN)/python -m images libutp transmission-4 libtorrent-2.0
	$(BIN)/testbed bench

trial-fuzz: env
	@mkdir -p build
	gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -o build/fuzz_records tests/analysis/fuzz_records.c
	build/fuzz_records tests/analysis/data/fuzz.pcap 10000000
	$(BIN)/python -m tests.trust.fuzz --seconds 3600

trial-long-runs: host images
	$(BIN)/python -m tests.trust.long_runs 10000

trial-mutants: host debug-images
	$(BIN)/python -m tests.tcp_ledbat.mutants tcp_ledbat
	$(BIN)/python -m tests.tcp_ledbat.mutants tcp_rledbat

trial-identity: host images
	$(BIN)/python -m images --all
	$(BIN)/python -m tests.trust.identity

trial-recorded: host images
	$(BIN)/python -m images --all
	$(BIN)/python -m tests.trust.recorded

trial-modes: host images
	$(BIN)/python -m images --all
	$(BIN)/python -m tests.trust.modes

lock:  ## renew requirements.lock from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --extra pipeline --extra dev --generate-hashes --no-header \
	  --no-annotate --no-emit-index-url --no-emit-find-links --output-file requirements.lock pyproject.toml
	sed --in-place --expression ':again; /\\$$/ { N; s/ *\\\n */ /; b again }' requirements.lock  # a line for each package

clean:  ## remove results, environment and build leftovers; cache/ stays (rm -r cache for that too)
	rm -rf results .venv build dist *.egg-info .snakemake .pytest_cache .mypy_cache .ruff_cache
