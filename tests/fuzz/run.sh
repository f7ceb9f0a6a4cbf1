#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD - every fuzz target of a build with the preset fuzz, for FUZZ_SECONDS (10) each.
#
# New inputs are kept in BUILD/fuzz; a finding ends the run and is written there: put it into corpus/TARGET.
set -u
build=$1 here=$(cd "$(dirname "$0")" && pwd)
seconds=${FUZZ_SECONDS:-10}
failed=0
for source in "$here"/*_fuzz.cc; do
  name=$(basename "$source" _fuzz.cc)
  mkdir -p "$build/fuzz/$name"
  log=$build/fuzz/$name.log
  if "$build/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$build/fuzz/$name-" "$build/fuzz/$name" "$here/corpus/$name" >"$log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions in $seconds s"
  else
    echo "$name: FAILED, see $log"
    tail -40 "$log"
    failed=1
  fi
done
exit $failed
