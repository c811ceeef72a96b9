#!/bin/sh
# Puts the browser packages of others into the pages' folder, each in exactly this version: scripts/vendor.sh.
# Needs npm. A package's files come with its licence, and are served from our own server only.
set -eu
cd "$(dirname "$0")/../server/rewarden_server/pages/vendor"

# NAME VERSION SHA512 FILE…: `npm pack` checks nothing that we did not see, so the archive's digest stands here.
vendor() {
  name=$1 version=$2 digest=$3
  shift 3
  work=$(mktemp -d)
  (cd "$work" && npm pack --silent "$name@$version" >/dev/null)
  found=$(openssl dgst -sha512 -binary "$work"/*.tgz | openssl base64 -A)
  if [ "$found" != "$digest" ]; then
    echo "$name@$version: the archive's SHA-512 is $found, not $digest" >&2
    exit 1
  fi
  tar -xzf "$work"/*.tgz -C "$work"
  rm -rf "$name" && mkdir "$name"
  for file in LICENSE "$@"; do
    cp "$work/package/$file" "$name/"
  done
  rm -r "$work"
}

vendor uplot 1.6.32 KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw== dist/uPlot.iife.min.js
