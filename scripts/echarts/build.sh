#!/usr/bin/env bash
# Makes fxrace/render/vendor/echarts anew from the npm registry. Needed only to change the version
# or what entry.mjs takes in; needs node and npm. The result is committed: no user builds anything.
set -euo pipefail
cd "$(dirname "$0")"
target=$(cd ../../fxrace/render/vendor/echarts && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp entry.mjs package.json package-lock.json "$work"
(
  cd "$work"
  npm ci --silent --no-audit --no-fund
  npx esbuild entry.mjs --bundle --minify --format=iife --global-name=echarts --target=es2020 \
    --legal-comments=none --outfile=echarts.min.js
)
if grep -q -e '</script' -e 'new Function' -e 'eval(' "$work/echarts.min.js"; then
  echo "the bundle cannot stand in a page that forbids eval" >&2
  exit 1
fi
cp "$work/echarts.min.js" "$target/echarts.min.js"
modules=$work/node_modules
{
  cat "$modules/echarts/NOTICE"
  printf '\n==== echarts %s ====\n' "$(node -p "require('$modules/echarts/package.json').version")"
  cat "$modules/echarts/LICENSE" "$modules/echarts/licenses/"*
  printf '\n==== zrender %s ====\n' "$(node -p "require('$modules/zrender/package.json').version")"
  cat "$modules/zrender/LICENSE"
  printf '\n==== tslib %s ====\n' "$(node -p "require('$modules/tslib/package.json').version")"
  cat "$modules/tslib/LICENSE.txt"
} > "$target/LICENSE"
