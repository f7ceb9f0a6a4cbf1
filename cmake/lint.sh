#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh BUILD_DIR [COMMIT | K/N]: clang-tidy over the sources of core, plugins and providers, by the checks of
# .clang-tidy; with COMMIT over the sources, not the headers, that differ from it; with K/N over each N-th of them, from
# the K-th on. A finding fails it, and so does a source that cannot be compiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1 since=${2:-}
for tool in clang-tidy run-clang-tidy; do
  command -v "$tool" > /dev/null || { echo "lint: $tool is missing, nothing was checked: install clang-tidy" >&2; exit 1; }
done
folders='(core|plugins|providers)'
place="^${PWD//./\\.}/"
escape() {
  files=("${files[@]//./\\.}")
  files=("${files[@]/#/$place}")
  files=("${files[@]/%/\$}")
}
if [ -z "$since" ]; then
  files=("$place$folders/.*\\.cc\$")
  shown="all sources"
elif [[ $since =~ ^([0-9]+)/([0-9]+)$ ]]; then
  mapfile -t files < <(git ls-files core plugins providers | grep '\.cc$' |
    awk -v k="${BASH_REMATCH[1]}" -v n="${BASH_REMATCH[2]}" '(NR - 1) % n == k - 1')
  shown="part $since of the sources"
  [ ${#files[@]} -gt 0 ] || { echo "lint: there is no part $since: K of K/N is from 1 to N" >&2; exit 1; }
  escape
else
  mapfile -t files < <(git diff --name-only --diff-filter=d "$since" -- | grep -E "^$folders/.*\.cc$" || true)
  shown="${#files[@]} sources that differ from $since"
  if [ ${#files[@]} -eq 0 ]; then
    echo "lint: no source differs from $since"
    exit 0
  fi
  escape
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
