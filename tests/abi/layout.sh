#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# layout.sh PLUGIN_API WORK CC [--write] - the layout of the ABI is what every release's list says it is.
#
# --write makes the list of today's headers: once for each minor version, when it is released.
set -u
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
api=$1 work=$2 cc=$3
mkdir -p "$work"
# Drafts may still change, so they are not in the list.
files=$(find "$api/include" -name '*.h' -not -path '*/draft/*' | sort)
awk -f "$here/layout.awk" $files >"$work/layout.c" || exit 1
"$cc" -std=c11 -I"$api/include" "$work/layout.c" -o "$work/layout" || exit 1
"$work/layout" >"$work/layout.txt" || exit 1
if [ "${4:-}" = --write ]; then
  cp "$work/layout.txt" "$here/layout_1_0.txt"
  exit 0
fi

for list in "$here"/layout_*.txt; do
  try "$(basename "$list")" awk -f "$here/layout_compare.awk" "$list" "$work/layout.txt"
done

# Negative controls: each of these changes must be refused, and growth must not.
refused() {
  if awk -f "$here/layout_compare.awk" "$here/layout_1_0.txt" "$work/changed.txt" >/dev/null; then
    echo "FAILED: not noticed: $1"
    failed=1
  fi
}
change() {
  sed "$2" "$work/layout.txt" >"$work/changed.txt"
  if cmp -s "$work/layout.txt" "$work/changed.txt"; then echo "FAILED: no such change: $1"; failed=1; fi
  refused "$1"
}
change "a member that moved" 's/^agentd_call.token 8 8/agentd_call.token 16 8/'
change "a member of another size" 's/^agentd_turn.flags 4 4/agentd_turn.flags 4 8/'
change "a member that is gone" '/^agentd_core.arena /d'
change "two members exchanged" '/^agentd_call.live/{h;d};/^agentd_call.core/{G}'
change "a frozen record that grew" 's/^agentd_hook.end 24 0/agentd_hook.new 24 8\nagentd_hook.end 32 0/'
change "a number that changed" 's/^define AGENTD_E_BUSY -7/define AGENTD_E_BUSY -8/'
change "an event that is gone" '/^event turn_end/d'
sed 's/^agentd_call.end 64 0/agentd_call.new 64 8\nagentd_call.end 72 0/' "$work/layout.txt" >"$work/grown.txt"
try "a record may grow" awk -f "$here/layout_compare.awk" "$here/layout_1_0.txt" "$work/grown.txt"
exit $failed
