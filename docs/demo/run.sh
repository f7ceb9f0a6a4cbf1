#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job on real input: a scripted model reads this repository through real tools until its small
# window is over 70 % full; auto_compact.so, a native hook in ~/.agent/hooks, notices it at agent_stop,
# gets a summary and replaces the conversation; the next run continues from the summary.
# Usage: run.sh DIRECTORY, where DIRECTORY is a build tree or the prefix of an installed agentd
set -euo pipefail
exec < /dev/null  # text piped into this script is not a message
where=$(cd "$1" && pwd)
agentd=$where/core/app/agentd bundled=$where/hooks
if [ -x "$where/bin/agentd" ]; then agentd=$where/bin/agentd bundled=$where/lib/agentd/hooks; fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HOME=$home AGENTD_HOME=$home/.agent
mkdir -p -m 700 "$AGENTD_HOME" "$AGENTD_HOME/hooks"
install -m 755 "$bundled/auto_compact.so" "$AGENTD_HOME/hooks/"
cat > "$AGENTD_HOME/config.yaml" <<YAML
provider: scripted
context_window: 16000
scripted:
  file: $here/script.yaml
  state: $home/script.state
  record: $home/requests.jsonl
compaction: {compact_at: 0.92}
permissions: {allow: [bash]}
YAML
show() { fold -s -w 98 | sed 's/^/  /'; }
check() { # WHAT COMMAND...: one line; the demo fails if it does not hold
  if "${@:2}"; then echo "  ok    $1"; else echo "  FAIL  $1"; exit 1; fi
}

echo "A native hook compacts a real conversation"
echo
echo "\$ ls ~/.agent/hooks; agentd --plugins     # manifests alone: no byte of a plugin runs"
ls "$AGENTD_HOME/hooks" | show
"$agentd" --plugins | sed "s|$home|~|" | head -n 4 | show
echo
echo "\$ agentd run --trace-hooks \"Find out how hooks are dispatched here.\""
"$agentd" run --trace-hooks "Find out how hooks are dispatched here." 2>&1 | tee "$home/first.txt" | show
echo
echo "\$ agentd conversation show ID --log      # the boundary: nothing was deleted"
id=$("$agentd" conversation list --json --all | grep -oE '[0-9A-HJKMNP-TV-Z]{26}' | head -n 1)
"$agentd" conversation show "$id" --log > "$home/log.txt"
grep '"boundary"' "$home/log.txt" |
  sed -E 's/.*"seq":([0-9]+),.*"reason":"([a-z]*)".*"method":"([a-z]*)".*"author":"([a-z_]*)".*"kept":(\[.*\]).*"pre_tokens":([0-9]+),"post_tokens":([0-9]+).*/seq \1: boundary, method \3 by \4 (reason \2), keeps \5, \6 -> \7 tokens/' | show
echo "$(wc -l < "$home/log.txt") records in the log, $(grep -c '"tool_result"' "$home/log.txt") tool results among them" | show
echo
echo "\$ agentd run --follow \"Why can a turn keep using an old snapshot?\""
"$agentd" run --follow "Why can a turn keep using an old snapshot?" 2>&1 | show
echo
echo "What the model received"
last=$(tail -n 1 "$home/requests.jsonl")
full() { [ "$(sed -nE 's/.* ([0-9]+) % → .*/\1/p' "$home/first.txt" | head -n 1)" -ge 70 ]; }
no_usage() { ! grep -q '^ *usage:' "$here/script.yaml"; }
holds_summary() { grep -qF 'subscriptions live in immutable snapshots' <<< "$last"; }
two_messages() { [ "$(grep -o '"role":' <<< "$last" | wc -l)" -eq 2 ]; }
nothing_else() {
  local text
  for text in 'Find out how hooks' 'I look at the rooms' 'class CallSlot' 'call_1_1' 'tool_result'; do
    ! grep -qF "$text" <<< "$last" || return 1
  done
}
log_keeps() { grep -qF 'class CallSlot' "$home/log.txt"; }
check "the window was over 70 % full, by the bytes of the requests" full
check "the script states no usage" no_usage
check "the request after the compaction holds the summary" holds_summary
check "it holds two messages: the summary and the new question" two_messages
check "it holds no message, call or result that was compacted" nothing_else
check "the log still holds them all" log_keeps
