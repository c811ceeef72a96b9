#!/usr/bin/env bash
# Resolves what the project is installed with into locks/: each version with the hashes of its files, for every platform
# and every Python from 3.11 on. What is locked keeps its version; UPGRADE=1 resolves everything anew. torch is no part of
# it: each machine takes the build that fits it, of the version in requirements-torch.txt.
# usage: lock.sh PYTHON
set -euo pipefail
python=$1
cd "$(dirname "$0")/.."
# Whoever installed what is locked has uv (scripts/install-locked.sh).

lock() {
  local name=$1
  shift
  "$python" -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
    --custom-compile-command 'make lock' ${UPGRADE:+--upgrade} --output-file "locks/$name.lock" "$@" >/dev/null
}

# Our own two are resolved from their sources; what the lock holds is what they need.
printf '%s\n' './client[grpc]' '.[all]' |
  lock setup --no-emit-package rewarden --no-emit-package rewarden-server - requirements-dev.txt
lock trainers -c locks/setup.lock --excludes requirements-torch.txt requirements-trainers.txt
lock apart --no-deps requirements-apart.txt
lock lean requirements-lean.txt
