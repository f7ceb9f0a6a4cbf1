#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# once.sh COMMAND...: runs a benchmark, mostly with --once, and fails unless it ends with 0 and its last line says that
# each of its rows was measured, or left out for a reason that it printed.
set -uo pipefail
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$@" < /dev/null 2>&1 | tee "$out"
code=${PIPESTATUS[0]}
name=$*
if [ "$code" -ne 0 ]; then
  echo "once: $name ended with $code" >&2
  exit 1
fi
last=$(tail -n 1 "$out")
if ! [[ $last =~ ^[a-z_]+:\ rows\ measured:\ ([0-9]+)\ of\ ([0-9]+)(,\ ([0-9]+)\ left\ out)?$ ]]; then
  echo "once: $name ended before the line that says what it measured" >&2
  exit 1
fi
measured=${BASH_REMATCH[1]} rows=${BASH_REMATCH[2]} left_out=${BASH_REMATCH[4]:-0}
if [ "$measured" -eq 0 ] || [ $((measured + left_out)) -ne "$rows" ]; then
  echo "once: $name measured $measured of $rows rows, and left out $left_out" >&2
  exit 1
fi
