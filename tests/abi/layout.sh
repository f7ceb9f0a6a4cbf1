#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# layout.sh PLUGIN_API WORK CC [--write] - the layout of the ABI is what every release's list says it is, for
# this machine and for Windows.
#
# --write makes the list of today's headers: once for each minor version, when it is released. A list that is
# there already may only get more lines.
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
minor=$(sed -n 's/^#define AGENTD_ABI_MINOR \([0-9]*\)u$/\1/p' "$api/include/agentd/hook_types.h")
own=$here/layout_1_$minor.txt
if [ "${4:-}" = --write ]; then
  if [ -f "$own" ] && grep -vxFf "$work/layout.txt" "$own"; then
    echo "FAILED: these lines of $(basename "$own") are released: a change of them needs a new id"
    exit 1
  fi
  cp "$work/layout.txt" "$own"
  exit 0
fi
# What is not in a list is not protected by it: the list of this minor version is complete.
try "$(basename "$own") names all of today's headers" diff <(sort "$own") <(sort "$work/layout.txt")

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

# Windows has other sizes of long, and the same layout: the compiler for it compares, since nothing runs there.
asserts() { # LIST
  awk -f "$here/layout_asserts.awk" "$1" $files >"$work/asserts.c" &&
    "$mingw" -std=c11 -I"$api/include" -fsyntax-only "$work/asserts.c"
}
if mingw=$(windows_compiler gcc); then
  try "the layout is the same for Windows" asserts "$own"
  sed 's/^agentd_call.token 8 8/agentd_call.token 16 8/' "$own" >"$work/changed.txt"
  if asserts "$work/changed.txt" >"$work/asserts.log" 2>&1 || ! grep -q 'offsetof(agentd_call, token)' "$work/asserts.log"; then
    echo "FAILED: not noticed: a member that moved, for Windows"
    failed=1
  fi
else
  lacks x86_64-w64-mingw32-gcc
fi
exit $failed
