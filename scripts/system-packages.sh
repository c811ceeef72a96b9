#!/usr/bin/env bash
# Debian packages that some tests use. Installed only as root in CI, or when SYSTEM=1 asks for it; otherwise the tests
# that need them are skipped with their reason.
set -euo pipefail
packages=()
missing=()
for package in "${packages[@]}"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0
if [ "${SYSTEM:-}" = 1 ] && [ "$(id -u)" = 0 ]; then
  apt-get update -q && apt-get install -y -q "${missing[@]}"
else
  echo "not installed (set SYSTEM=1 as root to install): ${missing[*]}"
fi
