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
vendor katex 0.19.1 jG8uKntjSEcm2EpQOh0XturpPuuC9r3Sq5HLHdsFdWZT27E672SF19QEi+of0/YeOy15lDgRhKvr5614uRrEfA== dist/katex.min.js

# Prism comes in parts, each after those that it builds on. They share the name Prism, and so become one file.
languages='clike c cpp java javascript python sql bash json'
parts=core
for language in $languages; do parts="$parts $language"; done
# shellcheck disable=SC2086,SC2046
vendor prismjs 1.30.0 DEvV2ZF2r2/63V+tK8hQvrR2ZGn10srHbXviTlcv7Kpzw8jWiNTqbVgjO3IY8RxrrOUF8VPMQQFysYYYv0YZxw== \
  $(for part in $parts; do echo "components/prism-$part.min.js"; done)
(
  cd prismjs
  echo 'self.Prism = { manual: true };' >prism.js
  for part in $parts; do
    cat "prism-$part.min.js" >>prism.js
    echo >>prism.js
  done
  echo 'self.Prism = Prism;' >>prism.js
  rm prism-*.min.js
)
