#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# threads.sh PLUGIN_API - every function pointer has its thread tag; and the check can fail.
set -u
. "$(dirname "$0")/lib.sh"
here=$(dirname "$0")
files=$(find "$1/include" -name '*.h' | sort)
try "thread tags" awk -v expect=40 -f "$here/threads.awk" $files

# Negative control: one tag taken away is one line of complaint.
broken=$(mktemp)
trap 'rm -f "$broken"' EXIT
sed '0,/\[any\]/s/\[any\]//' "$1/include/agentd/hook_abi.h" >"$broken"
if complaint=$(awk -v expect=1 -f "$here/threads.awk" "$broken") || [ "$(echo "$complaint" | wc -l)" != 1 ]; then
  echo "FAILED: a missing tag is not found"
  failed=1
fi
exit $failed
