# The project's commands. `make demo` and `make test` install everything that they need.
#
#   make demo    rescore the demo rollouts in process and print verdicts and a summary
#   make check   run every pure test and every case; no root, under 90 s
#   make test    run every test that this machine can run, except groups that repeat others; lists the tests it skipped
#                (MODELS=1, TRAINERS=1: install gigabytes for reward models and trainers into .venv;
#                SYSTEM=1 as root: install the Debian packages that tests use)
#   make test-for PATHS="FILE …"  run the quick tests that depend on these files: the first check of a change
#   make test-changed  run tests that `make test` leaves out and that files changed since the last green commit affect
#                (MINUTES=20: begin no test after that time)
#   make test-all  run every test
#   make stress N=20 K=NAME  run the tests that strain the kernel, N times each, and print how often each failed
#   make farm N=10000 USE=NAME  search that many hostile candidates for unscored verdicts and undeserved rewards
#                (REPLAY=SEED: only one find's candidate; LAUNCHER=bwrap; JSON=benchmarks/farm.json: for the scorecard)
#   make trainers-drift  run the adapters' tests against the newest release of each trainer (ONLY="trl verifiers")
#   make lean    install Lean for the tests, if gcc is installed (make test includes it)
#   make judge-model  install a chat model for the tests; gigabytes (make test MODELS=1 includes it)
#   make test-models  install small models for tests of the model process; gigabytes (make test MODELS=1 includes it)
#   make images  build the sandbox's images, if a container engine answers, and its root file system
#                (TIERS="jvm native scripts python-science": build these images, which the default leaves out)
#   make lint    run ruff and mypy --strict
#   make bench   measure ratios against named baselines; make soak runs long load tests
#   make protos  generate stubs from protos/
#   make docs    generate pages of the documentation
#   make golden  regenerate the golden bytes of the wires, after a change that CONTRIBUTING.md allows
#   make lock    resolve all dependencies into locks/; UPGRADE=1 upgrades them
#   make changelog-draft  print the next section of CHANGELOG.md; make changelog VERSION=X.Y.Z writes it
#   make site    build the documentation as a website in site/ that works offline
#   make screenshots  take the documentation's screenshots from the running product

VENV := .venv
PYTHON := $(VENV)/bin/python
BASE ?= python3
STAMP := $(VENV)/.installed
PIP := $(PYTHON) -m pip install --quiet --disable-pip-version-check
# Installs exactly the versions in locks/ (`make lock`).
LOCKED := bash scripts/install-locked.sh $(PYTHON)
PYTEST := $(PYTHON) -m pytest
# Pure tests are CPU-bound: one process per core.
CORES := $(shell nproc 2>/dev/null || echo 2)
# Processes for tests that can share the machine; tests/suite decides which tests those are and what runs after them.
export JOBS ?= 3
# Servers and tests start hundreds of interpreters; without cached bytecode, each one compiles its imports again.
unexport PYTHONDONTWRITEBYTECODE
# Trainers' packages and models take gigabytes, so they are optional.
HEAVY := $(if $(filter 1,$(MODELS)),judge-model test-models) $(if $(filter 1,$(TRAINERS)),trainers)

.PHONY: demo check test test-all test-changed test-for stress farm images soak bench lint lock protos golden docs changelog changelog-draft site screenshots setup system lean trainers trainers-drift judge-model test-models clean

setup: $(STAMP)

$(STAMP): pyproject.toml client/pyproject.toml locks/setup.lock
	@test -x $(PYTHON) || $(BASE) -m venv $(VENV) || { \
	  echo "python3 -m venv does not work; on Debian or Ubuntu, run apt-get install python3-venv" >&2; exit 1; }
	@$(PIP) --upgrade 'pip>=24'
	@$(LOCKED) locks/setup.lock
	@$(PIP) --no-deps --no-build-isolation -e client -e .
	@touch $@

$(VENV)/.trainers: $(STAMP) locks/trainers.lock locks/apart.lock requirements-torch.txt
	$(PIP) --no-compile -r requirements-torch.txt
	@$(LOCKED) locks/trainers.lock locks/apart.lock
	@touch $@

trainers: $(VENV)/.trainers

trainers-drift: setup
	@$(PYTHON) scripts/trainers-drift.py $(ONLY)

system: setup
	@bash scripts/system-packages.sh
	@bash scripts/sandbox-images.sh $(abspath $(PYTHON))

lean: setup
	@bash scripts/lean-toolchain.sh $(PYTHON) $(abspath $(VENV))/lean-toolchain

judge-model test-models: export TQDM_DISABLE := 1  # progress bars fill a log
judge-model: $(VENV)/.trainers
	@$(PYTHON) scripts/judge-model.py $(VENV)/judge-model

test-models: $(VENV)/.trainers
	@$(PYTHON) scripts/test-models.py $(VENV)/models

images: setup
	$(PYTHON) -m rewarden_sandboxes.building $(if $(TIERS),images --only $(TIERS),all)

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
	@$(PYTHON) -m tests.suite --changed $(if $(MINUTES),--minutes $(MINUTES))

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
	$(PYTHON) -m benchmarks.soak.boxes

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
	@test -n "$(VERSION)" || { echo "VERSION is not set; run make changelog VERSION=X.Y.Z" >&2; exit 1; }
	$(PYTHON) -m towncrier build --yes --version $(VERSION)

site: setup
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --clean
	@echo "open site/index.html, or, to use its search, run $(PYTHON) -m http.server --directory site"

clean:
	rm -rf $(VENV) out site .pytest_cache .mypy_cache .ruff_cache .hypothesis
