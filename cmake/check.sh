#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh BUILD_DIR [FOLDER...]: every source of the tree, or of these folders, by the compiler and the flags of
# BUILD_DIR, without writing code: warnings, lock annotations, and includes that a precompiled header would hide. A
# warning fails it.
set -euo pipefail
build=$1 began=$SECONDS
shift
folders=${*:-core plugins providers plugin-api tests bench}
place="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/(${folders// /|})/"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
# CMake writes each command on a line of its own. A source of several targets is checked once; one that a build makes is
# not there.
sed -n 's/^ *"command": "\(.*\)",$/\1/p' "$build/compile_commands.json" |
  sed -e 's/\\"/"/g' -e 's/\\\\/\\/g' -e 's/ -o [^ ]* -c / -fsyntax-only /' |
  awk -v place="^$place" '$NF ~ place && !seen[$NF]++ && (getline line < $NF) >= 0 { print } { close($NF) }' > "$list"
sources=$(wc -l < "$list")
[ "$sources" -gt 0 ] || { echo "check: $build has no list of commands, nothing was checked" >&2; exit 1; }
status=0
(cd "$build" && tr '\n' '\0' < "$list" | xargs -0 -P "$(nproc)" -I{} bash -c {}) || status=$?
[ "$status" -eq 0 ] || { echo "check: warnings, or a source that cannot be compiled" >&2; exit 1; }
echo "check: $sources sources in $((SECONDS - began)) s, no warning"
