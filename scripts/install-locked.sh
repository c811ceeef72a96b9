#!/usr/bin/env bash
# Installs what locks hold, each file by its hash; nothing is resolved, and nothing is compiled before it is imported. uv
# takes a tenth of pip's time and keeps wheels in a cache (UV_CACHE_DIR). Where it reaches no index, as it does not read
# pip's configuration, pip installs the same.
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
echo "uv cannot install it; pip does, which takes longer" >&2
pip install --quiet --no-deps --require-hashes --no-compile "${locks[@]}"
