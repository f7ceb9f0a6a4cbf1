#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# corpus.sh PLUGIN_API [--seal] - makes the modules of a new minor version's corpus, once.
#
# corpus/1.MINOR/ gets its sources and scenarios (*.yaml) by hand; this builds them with today's headers. Then the
# replay test records the transcripts (AGENTD_CORPUS_RECORD=1 abi_replay), somebody reads them, and --seal writes
# the list of digests. A version with a list is released: nothing here touches it again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
api=$(cd "$1" && pwd)
minor=$(sed -n 's/^#define AGENTD_ABI_MINOR \([0-9]*\)u$/\1/p' "$api/include/agentd/hook_types.h")
corpus=$here/corpus/1.$minor
if [ -e "$corpus/SHA256SUMS" ]; then
  echo "corpus 1.$minor is released and stays as it is: a new minor version begins a new one" >&2
  exit 1
fi
cd "$corpus"
if [ "${2:-}" = --seal ]; then
  for module in *.so; do
    [ -e "${module%.so}.txt" ] || { echo "$module has no transcript" >&2; exit 1; }
  done
  sha256sum $(ls | grep -v '^SHA256SUMS$') >SHA256SUMS
  exit 0
fi
common="-O2 -s -shared -fPIC -fvisibility=hidden -Wall -Wextra -Wpedantic -Werror -I$api/include"
shopt -s nullglob
for source in *.c; do gcc -std=c11 $common "$source" -o "${source%.c}.so"; done
for source in *.cpp; do
  g++ -std=c++20 $common -I"$api/cpp" -Wl,--version-script="$api/template/hook.map" "$source" -o "${source%.cpp}.so"
done
if [ -e hello_c.c ]; then
  tcc -shared -fPIC -I"$api/include" hello_c.c -o hello_tcc.so
  strip hello_tcc.so
fi
chmod 644 *.so
ls -l *.so
