#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh BUILD_DIR [COMMIT]: clang-tidy over the sources of core, plugins and providers, by the checks of .clang-tidy;
# with COMMIT over the sources, not the headers, that differ from it. A finding fails it, and so does a source that
# cannot be compiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1 since=${2:-}
for tool in clang-tidy run-clang-tidy; do
  command -v "$tool" > /dev/null || { echo "lint: $tool is missing, nothing was checked: install clang-tidy" >&2; exit 1; }
done
folders='(core|plugins|providers)'
place="^${PWD//./\\.}/"
if [ -z "$since" ]; then
  files=("$place$folders/.*\\.cc\$")
  shown="all sources"
else
  mapfile -t files < <(git diff --name-only --diff-filter=d "$since" -- | grep -E "^$folders/.*\.cc$" || true)
  shown="${#files[@]} sources that differ from $since"
  if [ ${#files[@]} -eq 0 ]; then
    echo "lint: no source differs from $since"
    exit 0
  fi
  files=("${files[@]//./\\.}")
  files=("${files[@]/#/$place}")
  files=("${files[@]/%/\$}")
fi
began=$SECONDS
out=$(mktemp)
trap 'rm -f "$out"' EXIT
status=0
run-clang-tidy -quiet -p "$build" -j "$(nproc)" "${files[@]}" > "$out" 2> /dev/null || status=$?
# The command of each file is printed, too.
checked=$(grep -c '^clang-tidy' "$out") || checked=0
grep -vE '^clang-tidy|warnings? (generated|treated)|^$' "$out" || true
[ "$checked" -gt 0 ] || { echo "lint: no command of $build compiles any of them, nothing was checked" >&2; exit 1; }
[ "$status" -eq 0 ] || { echo "lint: findings, or a source that cannot be compiled" >&2; exit 1; }
echo "lint: $shown, $checked checked in $((SECONDS - began)) s, no finding"
