#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# precompact.sh - a PreCompact hook for Claude Code: saves a checkpoint of its session with agentd before the context is
# compacted. Another agent with such a hook can call it the same way.
#
# In .claude/settings.json, with the place of this file:
#   {"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "/usr/local/bin/precompact.sh"}]}]}}
#
# The event comes as JSON on standard input; its session_id and cwd are used. Usage: precompact.sh [PERCENT]
# The hook never keeps the agent from its compaction: it exits with 0. If nothing could be saved, it prints a sentence
# for the model.
percent=${1:-}
event=$(tr '\n' ' ')
field() {
  printf '%s' "$event" | sed -n 's/.*"'"$1"'"[[:space:]]*:[[:space:]]*"\([^"\\]*\)".*/\1/p'
}
session=$(field session_id)
session=${session:-${CLAUDE_SESSION_ID:-}}
directory=$(field cwd)
if [ -n "$directory" ]; then
  cd -- "$directory" || exit 0
fi
if [ -n "$session" ] &&
  agentd checkpoint save --session "$session" --surface claude-code ${percent:+--percent "$percent"} >/dev/null; then
  exit 0
fi
echo "No checkpoint was saved. Call the tool context_threshold of agentd${session:+ with session_id $session}."
exit 0
