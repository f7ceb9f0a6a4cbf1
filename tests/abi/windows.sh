#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# windows.sh PLUGIN_API SAMPLES WORK - the template and the samples of a release build for Windows; each module
# exports its entry and nothing else, carries its manifest in the section .agentd, and needs no library of the
# compiler.
set -u
. "$(dirname "$0")/lib.sh"
api=$1 samples=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
mingw_c=$(windows_compiler gcc) && mingw_cxx=$(windows_compiler g++) || {
  lacks x86_64-w64-mingw32-g++
  exit $failed
}
objdump=x86_64-w64-mingw32-objdump

exports_one() {
  local found
  found=$($objdump -p "$1" | awk '/Ordinal\/Name Pointer/ { on = 1; next } on && NF == 0 { exit } on { print $NF }')
  [ "$found" = agentd_hook_entry_v1 ] || { echo "exports:" $found; return 1; }
}
imports_the_system() {
  local found
  found=$($objdump -p "$1" | awk '/DLL Name:/ { print tolower($3) }' | grep -vE '^(kernel32|msvcrt|ucrtbase|api-ms-win-.*)\.dll$')
  [ -z "$found" ] || { echo "needs:" $found; return 1; }
}
has_manifest() { # FILE ID
  $objdump -s -j .agentd "$1" >"$work/section" || { echo "no section .agentd"; return 1; }
  $objdump -h "$1" | grep -A1 ' \.agentd ' | grep -q 'LOAD, READONLY, DATA' || { echo "the section is not read-only"; return 1; }
  x86_64-w64-mingw32-objcopy -O binary -j .agentd "$1" "$work/text" && grep -aq "^{\"id\":\"$2\",\"version\":\"" "$work/text" ||
    { echo "no manifest"; return 1; }
}
module() { # ID FILE COMMAND...
  local id=$1 file=$work/$2
  shift 2
  try "build: $(basename "$file")" "$@" -o "$file" || return
  [ -f "$file" ] || return
  try "$(basename "$file") exports one symbol" exports_one "$file"
  try "$(basename "$file") needs the system's libraries only" imports_the_system "$file"
  try "$(basename "$file") has its manifest" has_manifest "$file" "$id"
}
warn="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror"
module org.example.hello hello_c.dll "$mingw_c" -std=c11 -O2 -s -shared $warn -I"$api/include" "$api/template/hello.c"
for level in -O0 -Ofast "-O2 -flto"; do
  module org.example.hello "hello_cpp${level//[ -]/_}.dll" "$mingw_cxx" -std=c++20 $level -s -static -shared $warn \
    -I"$api/include" -I"$api/cpp" "$api/template/hello.cpp"
done
for sample in services tool; do
  module org.example.corpus.$sample $sample.dll "$mingw_c" -std=c11 -O2 -s -shared $warn -I"$api/include" \
    "$samples/$sample.c"
done
module org.example.corpus.state state.dll "$mingw_cxx" -std=c++20 -O2 -s -static -shared $warn \
  -I"$api/include" -I"$api/cpp" "$samples/state.cpp"

# The template's own build files, with a toolchain file's two settings.
template() {
  cmake -S "$api/template" -B "$work/template" -G Ninja -DCMAKE_SYSTEM_NAME=Windows \
    -DCMAKE_C_COMPILER="$mingw_c" -DCMAKE_CXX_COMPILER="$mingw_cxx" >"$work/cmake.log" 2>&1 &&
    cmake --build "$work/template" >>"$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; return 1; }
}
try "the template's CMakeLists.txt makes a DLL" template
try "which has its manifest" has_manifest "$work/template/hello.dll" org.example.hello
exit $failed
