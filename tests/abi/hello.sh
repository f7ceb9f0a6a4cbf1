#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hello.sh PLUGIN_API WORK CHECK_MODULE - the template builds outside the tree with one line, by every
# compiler; the module exports its entry and nothing else, carries its manifest, loads and acts.
set -u
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
api=$1 work=$2 check=$3
rm -rf "$work"
mkdir -p "$work"

# What a linker itself puts into every dynamic symbol table (tcc's does) is nobody's export.
exports_one() {
  local found
  found=$(nm -D --defined-only "$1" | awk '{print $3}' |
    grep -vE '^(_GLOBAL_OFFSET_TABLE_|__(preinit|init|fini)_array_(start|end)|_edata|_end|_etext|__bss_start|_init|_fini)$')
  [ "$found" = agentd_hook_entry_v1 ] || { echo "exports:" $found; return 1; }
}
imports_no_host() {
  if nm -D --undefined-only "$1" | grep -i ' agentd'; then return 1; fi
}
has_manifest() {
  readelf -nW "$1" | grep -q '^  agentd ' && grep -aq '{"id":"org.example.[a-z]*","version":"1.0.0","abi":"1.0"' "$1" ||
    { echo "no manifest note"; return 1; }
}
module() { # KIND FILE NOTE COMMAND...
  local kind=$1 file=$work/$2 note=$3
  shift 3
  try "build: $*" "$@" -o "$file" || return
  [ -f "$file" ] || return
  try "$(basename "$file") exports one symbol" exports_one "$file"
  try "$(basename "$file") links nothing of the host" imports_no_host "$file"
  [ "$note" = no ] || try "$(basename "$file") has its manifest" has_manifest "$file"
  try "$(basename "$file") acts" "$check" "$kind" "$file"
}

c="-O2 -shared -fPIC -fvisibility=hidden -I$api/include"
cxx="-std=c++20 $c -I$api/cpp -Wl,--version-script=$api/template/hook.map"
for compiler in gcc clang; do
  have $compiler || continue
  module hello hello_$compiler.so yes $compiler $c "$api/template/hello.c"
  module hello hello_fast_$compiler.so yes $compiler $c -Ofast -flto "$api/template/hello.c"
  module hello hello_O0_$compiler.so yes $compiler $c -O0 "$api/template/hello.c"
done
# tcc makes no note: its users ship the sidecar.
have tcc -v && module hello hello_tcc.so no tcc -shared -fPIC "-I$api/include" "$api/template/hello.c"
for compiler in g++ clang++; do
  have $compiler || continue
  module hello hello_$compiler.so yes $compiler $cxx "$api/template/hello.cpp"
  module hello hello_static_$compiler.so yes $compiler $cxx -static-libstdc++ -static-libgcc "$api/template/hello.cpp"
  module hello hello_bare_$compiler.so yes $compiler $cxx -O0 -fno-exceptions -fno-rtti "$api/template/hello.cpp"
  module hello hello_fast_$compiler.so yes $compiler $cxx -Ofast -flto -static-libstdc++ -static-libgcc "$api/template/hello.cpp"
  module throws throws_$compiler.so yes $compiler $cxx "$here/throws.cpp"
  module throws throws_static_$compiler.so yes $compiler $cxx -static-libstdc++ -static-libgcc "$here/throws.cpp"
done
have rustc && module hello hello_rustc.so yes rustc -C opt-level=2 -C panic=abort "$here/hello.rs"

lines=$(grep -c . "$api/template/hello.cpp")
[ "$lines" -lt 15 ] || { echo "FAILED: hello.cpp has $lines lines, 15 are too many"; failed=1; }
for sidecar in "$api"/template/*.hook.json; do
  grep -q '"abi":"1.0"' "$sidecar" || { echo "FAILED: $sidecar names no abi"; failed=1; }
done
exit $failed
