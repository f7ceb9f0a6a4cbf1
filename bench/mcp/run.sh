#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: bench/mcp/run.sh [BUILD_DIR [--once]]; needs npm and node 20 or newer. The packages are those of tests/interop.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build/release}
command -v npm >/dev/null || { echo "bench-mcp: npm is not installed; on Debian: apt install npm" >&2; exit 1; }
[ -f "$build/build.ninja" ] || { echo "bench-mcp: $build is no build directory; run 'make release' first" >&2; exit 1; }
ninja -C "$build" agentd mcp_probe e2e_mcp_fixtures >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/../../tests/interop/package*.json "$here"/*.mjs "$work/"
(cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --silent)
build=$(cd "$build" && pwd)
node "$work/compare.mjs" "$build/core/app/agentd" "$build/tests/interop/mcp_probe" "$build/tests/e2e/hooks/mcp_fixtures.so" "${2:-}"
