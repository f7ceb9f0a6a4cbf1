#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our token counter next to the npm packages gpt-tokenizer and tiktoken: first equal tokens on random
# strings, then equal counts and the speed on the same texts. With --once there are fewer strings, and short texts once.
# Usage: bench/tokens/run.sh [BUILD_DIR [--once]]; needs npm and node 18 or newer.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build/release}
command -v npm >/dev/null || { echo "bench-tokens: npm is not installed; on Debian: apt install npm" >&2; exit 1; }
[ -f "$build/build.ninja" ] || { echo "bench-tokens: $build is no build directory; run 'make release' first" >&2; exit 1; }
ninja -C "$build" bpe_tokens >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/package.json" "$here"/*.mjs "$work/"
(cd "$work" && npm install --no-package-lock --no-audit --no-fund --silent)
program=$(cd "$build" && pwd)/bench/tokens/bpe_tokens
[ "${2:-}" = --once ] && strings=300 || strings=5000
node "$work/fuzz.mjs" "$program" "$strings"
node "$work/compare.mjs" "$program" "${2:-}"
