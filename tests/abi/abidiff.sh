#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# abidiff.sh PLUGIN_API WORK [--write] - libabigail's opinion of the ABI: every release, type by type.
#
# The anchor library names every type; its description of each minor version is committed as abi_1_MINOR.xml.
# --write makes that of a minor version that has none.
set -u
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
api=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
have gcc || exit $failed
have abidiff && have abidw || exit $failed

anchor() { # INCLUDE NAME: NAME.so
  local files
  files=$(find "$1" -name '*.h' -not -path '*/draft/*' | sort)
  awk -f "$here/anchor.awk" $files >"$work/$2.c" &&
    gcc -std=c11 -g -O0 -shared -fPIC -fvisibility=hidden -I"$1" "$work/$2.c" -o "$work/$2.so"
}
growable=$(sed -n 's/^\([a-z_]*\)\.size 0 4$/\1/p' "$here"/layout_*.txt | sort -u | tr '\n' ' ')
judge() { # XML NAME
  abidiff --harmless --redundant --no-show-locs "$1" "$work/$2.so" >"$work/$2.report" 2>&1
  case $? in
    0) return 0 ;;
    4 | 8 | 12) awk -v growable="$growable" -f "$here/abidiff.awk" "$work/$2.report" ;;
    *) cat "$work/$2.report"; return 1 ;;
  esac
}

anchor "$api/include" today || exit 1
records=$(cat "$api"/include/agentd/*.h "$api"/include/agentd/ext/*.h | grep -c '^typedef ')
named=$(grep -c '^ANCHOR' "$work/today.c")
[ "$records" = "$named" ] || { echo "FAILED: the anchor names $named types, the headers have $records"; failed=1; }

minor=$(sed -n 's/^#define AGENTD_ABI_MINOR \([0-9]*\)u$/\1/p' "$api/include/agentd/hook_types.h")
own=$here/abi_1_$minor.xml
if [ "${3:-}" = --write ]; then
  [ ! -e "$own" ] || { echo "FAILED: $(basename "$own") is released and stays as it is"; exit 1; }
  abidw --no-show-locs --no-comp-dir-path --no-corpus-path --no-elf-needed "$work/today.so" |
    sed "s/ path='[^']*'/ path='anchor.c'/" >"$own"
  exit 0
fi
[ -f "$own" ] || { echo "FAILED: no $(basename "$own"): make it with --write"; exit 1; }
for xml in "$here"/abi_*.xml; do
  try "$(basename "$xml")" judge "$xml" today
done

# Controls: copies of the headers with one change each, their layout locks off.
change() { # NAME HEADER SED
  rm -rf "$work/$1"
  cp -r "$api/include" "$work/$1"
  sed -i "$3" "$work/$1/agentd/$2"
  if cmp -s "$api/include/agentd/$2" "$work/$1/agentd/$2"; then
    echo "FAILED: no such change: $1"
    failed=1
  fi
  sed -i 's/^#define AGENTD_LAYOUT(.*/#define AGENTD_LAYOUT(type, bytes) extern int agentd_no_lock/' \
    "$work/$1/agentd/hook_types.h"
  anchor "$work/$1" "$1" || failed=1
}
passes() { change "$@"; try "may be: $1" judge "$own" "$1"; }
refused() {
  change "$@"
  if judge "$own" "$1" >"$work/$1.log"; then echo "FAILED: not noticed: $1"; failed=1; else echo "ok: refused: $1"; fi
}
passes appended_member hook_abi.h 's/^  const void\* payload; .*/&\n  uint64_t extra;/'
passes appended_function hook_abi.h '/^} agentd_core;/i\  uint64_t(AGENTD_CALL* extra)(const struct agentd_core*) AGENTD_NOEXCEPT;'
passes new_record ext/tools.h '/^} agentd_tools;/a\typedef struct agentd_extra { uint32_t size, flags; } agentd_extra;'
refused inserted_member hook_abi.h 's/^  const void\* payload; .*/  uint64_t extra;\n&/'
refused changed_sign hook_abi.h 's/^  uint32_t event; \/\* AGENTD_EVENT_  /  int32_t event; \/\* AGENTD_EVENT_ /'
refused exchanged_members hook_abi.h 's/^  agentd_fn destroy;/  agentd_fn other;/; s/^  agentd_fn save_state;/  agentd_fn destroy;/; s/^  agentd_fn other;/  agentd_fn save_state;/'
refused frozen_grew hook_types.h '/^} agentd_live;/i\  uint64_t extra;'
refused wider_status hook_types.h 's/^typedef int32_t agentd_status/typedef int64_t agentd_status/'
refused other_parameters ext/json.h 's/agentd_token, agentd_str\* out)/agentd_token, uint32_t, agentd_str* out)/'
refused member_gone hook_services.h 's/^  const agentd_store\* store;$//'
exit $failed
