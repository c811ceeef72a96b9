# The project's commands. `make demo` and `make test` set everything up by themselves.
#
#   make demo    rescore the demo rollouts in process; prints verdicts and a summary
#   make check   no root, under 90 s: every pure test and every case
#   make test    every test that this machine can run, but for groups that repeat others; tells what was not tried
#                (MODELS=1, TRAINERS=1: installs gigabytes for reward models and trainers into .venv;
#                SYSTEM=1 as root: installs Debian packages that tests use)
#   make test-for PATHS="FILE …"  the quick tests that these files reach: what a change is proven with first
#   make test-changed  of the tests that `make test` left out, those that files changed since the last green commit reach
#   make test-all  every test there is
#   make stress N=20 K=NAME  the tests that fight the kernel, N times each; tells how often each failed
#   make farm N=10000 USE=NAME  what a policy could farm: unscored or paid for nothing, of so many hostile candidates
#                (REPLAY=SEED: the one candidate of a find; LAUNCHER=bwrap; JSON=benchmarks/farm.json: for the scorecard)
#   make lean    a Lean for the tests, where gcc is (make test does so)
#   make judge-model  a chat model for the tests; gigabytes (make test does so with MODELS=1)
#   make test-models  small models that give numbers, for the tests; gigabytes (make test does so with MODELS=1)
#   make images  what sandboxes run in: images where a container engine answers, and a root file system
#   make lint    ruff and mypy --strict
#   make bench   ratios against named baselines        make soak   long and rough
#   make protos  stubs from protos/                    make docs   the pages that are generated
#   make golden  the golden bytes of the wires, after a change that CONTRIBUTING.md allows
#   make lock    what is installed, resolved into locks/; UPGRADE=1: with newer versions
#   make changelog-draft  the next section of CHANGELOG.md, printed; make changelog VERSION=X.Y.Z writes it
#   make site    the documentation as a website, in site/; whole and offline
#   make screenshots  the pictures of the documentation, from the running product

VENV := .venv
PYTHON := $(VENV)/bin/python
BASE ?= python3
STAMP := $(VENV)/.installed
PIP := $(PYTHON) -m pip install --quiet --disable-pip-version-check
# Everything was resolved when locks/ was made (`make lock`).
LOCKED := bash scripts/install-locked.sh $(PYTHON)
PYTEST := $(PYTHON) -m pytest
# Pure tests compute all the time: a process for each core.
CORES := $(shell nproc 2>/dev/null || echo 2)
# Processes for tests that may share the machine; tests/suite says which, and what runs after them.
export JOBS ?= 3
# Servers and tests start hundreds of interpreters: without their byte code each compiles what it imports once more.
unexport PYTHONDONTWRITEBYTECODE
# Trainers' own packages, and models, weigh gigabytes: only where they are asked for.
HEAVY := $(if $(filter 1,$(MODELS)),judge-model test-models) $(if $(filter 1,$(TRAINERS)),trainers)

.PHONY: demo check test test-all test-changed test-for stress farm images soak bench lint lock protos golden docs changelog changelog-draft site screenshots setup system lean trainers judge-model test-models clean

setup: $(STAMP)

$(STAMP): pyproject.toml client/pyproject.toml locks/setup.lock
	@test -x $(PYTHON) || $(BASE) -m venv $(VENV) || { \
	  echo "python3 -m venv does not work here; on Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@$(PIP) --upgrade 'pip>=24'
	@$(LOCKED) locks/setup.lock
	@$(PIP) --no-deps --no-build-isolation -e client -e .
	@touch $@

$(VENV)/.trainers: $(STAMP) locks/trainers.lock locks/apart.lock requirements-torch.txt
	$(PIP) --no-compile -r requirements-torch.txt
	@$(LOCKED) locks/trainers.lock locks/apart.lock
	@touch $@

trainers: $(VENV)/.trainers

system: setup
	@bash scripts/system-packages.sh
	@bash scripts/sandbox-images.sh $(abspath $(PYTHON))

lean: setup
	@bash scripts/lean-toolchain.sh $(PYTHON) $(abspath $(VENV))/lean-toolchain

judge-model test-models: export TQDM_DISABLE := 1  # bars of progress fill a log
judge-model: $(VENV)/.trainers
	@$(PYTHON) scripts/judge-model.py $(VENV)/judge-model

test-models: $(VENV)/.trainers
	@$(PYTHON) scripts/test-models.py $(VENV)/models

images: setup
	$(PYTHON) -m rewarden_sandboxes.building all

demo: setup
	@$(VENV)/bin/rewarden rescore examples/demo/rollouts.jsonl --columns examples/demo/columns.toml \
	  --use demo/math=math --use demo/choice=choice -o out/demo.jsonl --force
	@$(PYTHON) examples/demo/show.py out/demo.jsonl

check: setup
	$(PYTEST) -n $(CORES) --dist worksteal --core -m "not (needs_server or alone or forks or slow)"

test: setup system lean $(HEAVY)
	@$(PYTHON) -m tests.suite

test-all: setup system lean judge-model test-models trainers
	@$(PYTHON) -m tests.suite --all

test-changed: setup
	@$(PYTHON) -m tests.suite --changed

test-for: setup
	@$(PYTHON) -m tests.suite --for $(PATHS)

stress: setup
	@$(PYTHON) -m tests.suite --stress $(or $(N),20) $(if $(K),-k "$(K)")

farm: setup
	@$(if $(wildcard $(VENV)/lean-toolchain/bin/lean),REWARDEN_LEAN_PROJECTS=tests=$(abspath $(VENV))/lean-toolchain) \
	  $(PYTHON) -m rewarden_server.studies.farm $(if $(N),--tries $(N)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(LAUNCHER),--launcher $(LAUNCHER)) $(if $(JSON),--json $(JSON)) $(if $(REPLAY),--replay $(REPLAY)) $(USE)

soak: setup
	$(PYTHON) -m benchmarks.soak

bench: setup
	$(PYTHON) -m benchmarks

lint: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

screenshots: setup
	@$(PYTHON) scripts/screenshots.py

lock: setup
	@bash scripts/lock.sh $(PYTHON)

protos: setup
	@bash protos/generate.sh

golden: setup
	@$(PYTHON) -m tests.wire.golden

docs: setup
	$(PYTHON) docs/generate.py

changelog-draft: setup
	@$(PYTHON) -m towncrier build --draft --version next

changelog: setup
	@test -n "$(VERSION)" || { echo "which version? make changelog VERSION=X.Y.Z" >&2; exit 1; }
	$(PYTHON) -m towncrier build --yes --version $(VERSION)

site: setup
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --clean
	@echo "site/index.html; with its search: $(PYTHON) -m http.server --directory site"

clean:
	rm -rf $(VENV) out site .pytest_cache .mypy_cache .ruff_cache .hypothesis
