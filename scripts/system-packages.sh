#!/usr/bin/env bash
# Installs Debian packages that some tests use, only as root with SYSTEM=1. Without them, the tests that need them are
# skipped with their reason.
set -euo pipefail
# command:package. A command that exists already (from a user's own engine, say) needs no package.
needed=(
  dockerd:docker.io        # sandboxes: the first launcher
  docker-compose:docker-compose  # the stack of docker-compose.yml
  bwrap:bubblewrap         # sandboxes: the second launcher
  debootstrap:debootstrap  # root file systems of sandboxes, if no Debian image can be pulled
  gcc:gcc                  # attacks that are written in C
  git:git                  # the patches that it writes
  chromium:chromium        # the HTML report and the server's pages, in a browser
  promtool:prometheus       # the alert rules' tests, and the dashboards' queries on a real Prometheus
  redis-server:redis-server  # the cache that servers share
  mariadbd:mariadb-server   # the verifier sql, on real servers
  iverilog:iverilog         # the verifier verilog, under bubblewrap
  yosys:yosys               # the same
  coqchk:coq                # the verifier rocq, under bubblewrap
  dafny:dafny               # the verifier dafny, under bubblewrap
  zsh:zsh                   # completion of the command line
  fish:fish                 # the same
)
missing=()
for pair in "${needed[@]}"; do
  PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
[ -e /usr/include/stdio.h ] || missing+=(libc6-dev)
# PostgreSQL's programs are in their own folders, outside PATH.
compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || missing+=(postgresql)
[ "${#missing[@]}" -gt 0 ] || exit 0
if [ "${SYSTEM:-}" = 1 ] && [ "$(id -u)" = 0 ]; then
  # The output goes to a file, shown only on failure: a thousand lines of unpacking hide the rest of a run's output.
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
