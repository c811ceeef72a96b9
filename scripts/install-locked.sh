#!/usr/bin/env bash
# Installs the files in locks, each verified by its hash. Resolves nothing, and compiles no bytecode. uv takes a tenth of
# pip's time and caches wheels (UV_CACHE_DIR). uv does not read pip's configuration, so if it cannot reach an index, pip
# installs the same files.
# usage: install-locked.sh PYTHON LOCK...
set -euo pipefail
python=$1
shift
locks=()
for lock in "$@"; do locks+=(-r "$lock"); done

pip() { "$python" -m pip --disable-pip-version-check "$@"; }

if pip install --quiet 'uv>=0.9.8,<1' &&
  "$python" -m uv pip install --quiet --python "$python" --no-deps --require-hashes "${locks[@]}"; then
  exit 0
fi
echo "uv cannot install the packages; using pip, which takes longer" >&2
pip install --quiet --no-deps --require-hashes --no-compile "${locks[@]}"
