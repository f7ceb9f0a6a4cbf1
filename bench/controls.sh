#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# controls.sh BENCH_FOLDER AGENTD - what once.sh must refuse: programs that end early or say that a row is missing, and
# each benchmark with something broken. What runs as it should passes, so that not everything is refused.
set -u
bench=$1 agentd=$2
once=$(dirname "${BASH_SOURCE[0]}")/once.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# red NAME TEXT COMMAND...: fails, and its output has TEXT.
red() {
  local name=$1 text=$2
  shift 2
  if bash "$once" "$@" > "$work/out" 2>&1; then
    echo "FAILED: $name passes"
  elif ! grep -qF -- "$text" "$work/out"; then
    echo "FAILED: $name is refused, but does not say: $text"
  else
    echo "ok: $name is refused"
    return
  fi
  tail -n 20 "$work/out"
  failed=1
}
says() { # TEXT: a program that prints it and ends with 0
  printf '#!/bin/sh\ncat <<"END"\n%s\nEND\n' "$1" > "$work/says"
  chmod +x "$work/says"
}
green() { # NAME
  if bash "$once" "$work/says" > "$work/out" 2>&1; then
    echo "ok: $1 passes"
  else
    echo "FAILED: $1 is refused"
    tail -n 20 "$work/out"
    failed=1
  fi
}

says "bench_x: rows measured: 2 of 2"
green "a program that measured everything"
says "bench_x: rows measured: 2 of 4, 2 left out"
green "a program that left out what the machine lacks"
says "bench_x: rows measured: 3 of 4"
red "a program that lacks a row" "measured 3 of 4" "$work/says"
says "bench_x: rows measured: 0 of 0"
red "a program that measures nothing" "measured 0 of 0" "$work/says"
says "bench_x: rows measured: 0 of 2, 2 left out"
red "a program that leaves out everything" "measured 0 of 2" "$work/says"
says "bench_x: rows measured: 2 of 2
and something behind it"
red "a program that goes on behind its last line" "ended before the line" "$work/says"
red "a program that says nothing" "ended before the line" /bin/true
red "a program that fails" "ended with 1" /bin/false
printf '#!/bin/sh\necho "bench_x: rows measured: 2 of 2"\nkill -9 $$\n' > "$work/killed"
chmod +x "$work/killed"
red "a program that is killed" "ended with 137" "$work/killed"

# The model's tool is missing: the run ends well, and its row is of nothing.
printf '#!/bin/sh\nexec "%s" "$@" --no-tools\n' "$agentd" > "$work/no_tools"
chmod +x "$work/no_tools"
red "bench_macro without the tool" "0 outputs of the tool" \
  "$bench/macro/bench_macro" --once --only tool --agentd "$work/no_tools"
red "bench_macro without requests" "requests instead of" \
  "$bench/macro/bench_macro" --once --only turn --agentd /bin/true
red "bench_cage without the tools" "8 calls did not succeed" "$bench/cage/bench_cage" --once --agentd "$work/no_tools"
red "bench_acp without agentd" "ended with" "$bench/acp/bench_acp" --once --agentd /bin/true
red "bench_sessions without agentd" "ended with 1" "$bench/sessions/bench_sessions" --once --agentd /bin/false
red "bench_serve without agentd" "ended with 1" \
  "$bench/serve/bench_serve" --once --sessions 2 --active 1 --agentd "$work/nothing"
red "bench_store without a directory" "no directory" "$bench/store/bench_store" --once "$work/nothing"
red "bench_search without a directory" "no directory" "$bench/search/bench_search" --once "$work/nothing"
red "bench_micro without benches" "rows measured: 0 of 0" "$bench/micro/bench_micro" --once --benchmark_filter=NoSuchBench
few_files() { (ulimit -n 10 && exec "$bench/net/bench_net" --once); }
export bench
export -f few_files
red "bench_net without descriptors" "ended with" bash -c few_files
exit "$failed"
