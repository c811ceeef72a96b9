#!/usr/bin/env bash
# Debian packages that some tests use. Installed only as root in CI, or when SYSTEM=1 asks for it; otherwise the tests
# that need them are skipped with their reason.
set -euo pipefail
# command:package. What is there in another way (a user's own engine, say) is not asked for.
needed=(
  dockerd:docker.io        # sandboxes: one launcher
  docker-compose:docker-compose  # the stack of docker-compose.yml
  bwrap:bubblewrap         # the other
  debootstrap:debootstrap  # their root file systems, where no image of Debian can be pulled
  gcc:gcc                  # attacks that are written in C
  chromium:chromium        # the HTML report and the server's pages, opened as a person opens them
  promtool:prometheus       # the alert rules, by its own tests; and what dashboards ask, on a real one
  redis-server:redis-server  # the cache that servers share
  mariadbd:mariadb-server   # the verifier sql, on real servers
)
missing=()
for pair in "${needed[@]}"; do
  PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
[ -e /usr/include/stdio.h ] || missing+=(libc6-dev)
# Its programs stand in folders of their own, in no PATH.
compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || missing+=(postgresql)
[ "${#missing[@]}" -gt 0 ] || exit 0
if [ "${SYSTEM:-}" = 1 ] && [ "$(id -u)" = 0 ]; then
  # In a file, shown where it fails: a thousand lines of unpacking hide what a run has to say.
  log=$(mktemp)
  if ! { apt-get update -q && apt-get install -y -q "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    exit 1
  fi
  rm -f "$log"
  echo "installed: ${missing[*]}"
else
  echo "not installed (set SYSTEM=1 as root to install): ${missing[*]}"
fi
