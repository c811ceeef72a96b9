#!/usr/bin/env bash
# Resolves the project's dependencies into locks/: each version with the hashes of its files, for every platform and every
# Python from 3.11 on. Locked packages keep their versions; UPGRADE=1 upgrades them. torch is not locked: each machine
# installs the build that fits it, of the version in requirements-torch.txt.
# usage: lock.sh PYTHON
set -euo pipefail
python=$1
cd "$(dirname "$0")/.."
# scripts/install-locked.sh has installed uv.

lock() {
  local name=$1
  shift
  "$python" -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
    --custom-compile-command 'make lock' ${UPGRADE:+--upgrade} --output-file "locks/$name.lock" "$@" >/dev/null
}

# Our own two packages are resolved from their sources; the lock contains only their dependencies.
printf '%s\n' './client[grpc]' '.[all]' |
  lock setup --no-emit-package rewarden --no-emit-package rewarden-server - requirements-dev.txt
lock trainers -c locks/setup.lock --excludes requirements-torch.txt requirements-trainers.txt
lock apart --no-deps requirements-apart.txt
lock lean requirements-lean.txt
