#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers.sh PLUGIN_API WORK - the headers compile, each alone and all together, without a warning, wherever
# they promise to: C11 and C17 with gcc, clang, tcc and mingw-w64, C++11 to C++23 with g++, clang++ and mingw-w64.
set -u
. "$(dirname "$0")/lib.sh"
api=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
headers=$(cd "$api/include" && find agentd -name '*.h' | sort)
[ -n "$headers" ] || { echo "FAILED: no headers under $api/include"; exit 1; }

# One source for each header, and one that includes all of them twice.
all="$work/all.c"
: >"$all"
for header in $headers; do
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" >>"$all"
  printf '#include <%s>\nextern int one;\n' "$header" >"$work/$(echo "$header" | tr '/.' '__').c"
done
printf 'AGENTD_MANIFEST("{}");\n' >>"$all"

strict="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror -fsyntax-only"
# each COMPILER STANDARD FLAGS...: every source; one line for all of them when none complains.
each() {
  local compiler=$1 standard=$2 source text bad=0
  shift 2
  for source in "$work"/*.c; do
    text=$("$compiler" -std="$standard" $strict "$@" -I"$api/include" "$source" 2>&1) && [ -z "$text" ] && continue
    echo "FAILED: $compiler $standard $(basename "$source")"
    printf '%s\n' "$text" | head -20
    bad=1 failed=1
  done
  [ $bad = 1 ] || echo "ok: $(basename "$compiler") $standard"
}
sdk() { # COMPILER: the C++ headers, which plugins may use without exceptions and without RTTI
  local header
  for header in $(cd "$api/cpp/agentd" && ls -- *.hpp); do
    try "$(basename "$1") $header" "$1" -std=c++20 $strict -fno-exceptions -fno-rtti \
      -I"$api/include" -I"$api/cpp" -include "agentd/$header" -x c++ /dev/null
  done
  try "$(basename "$1") fake_host.hpp" "$1" -std=c++20 $strict -I"$api/include" -I"$api/cpp" \
    -I"$api/testing" -include agentd/fake_host.hpp -x c++ /dev/null
}

for compiler in gcc clang; do
  have $compiler || continue
  for standard in c11 c17; do each $compiler $standard; done
done
if have tcc -v; then
  for source in "$work"/*.c; do
    try "tcc $(basename "$source")" tcc -Wall -Werror -I"$api/include" -c "$source" -o "$work/tcc.o"
  done
fi
for compiler in g++ clang++; do
  have $compiler || continue
  for standard in c++11 c++14 c++17 c++20 c++2b; do each $compiler $standard -x c++; done
  sdk $compiler
done
if mingw=$(windows_compiler gcc); then
  for standard in c11 c17; do each "$mingw" $standard; done
else
  lacks x86_64-w64-mingw32-gcc
fi
if mingw=$(windows_compiler g++); then
  for standard in c++11 c++14 c++17 c++20 c++2b; do each "$mingw" $standard -x c++; done
  sdk "$mingw"
else
  lacks x86_64-w64-mingw32-g++
fi

# Control: a conversion that loses bits is noticed.
printf '#include <agentd/hook_abi.h>\nuint16_t cut(const agentd_call* c);\nuint16_t cut(const agentd_call* c) { return c->event; }\n' \
  >"$work/control.c"
for compiler in gcc clang; do
  command -v $compiler >/dev/null || continue
  if $compiler -std=c11 $strict -I"$api/include" "$work/control.c" 2>/dev/null; then
    echo "FAILED: $compiler lets a narrowing conversion through"
    failed=1
  fi
done

# The C++ headers keep heavy parts of the library out of plugins.
if grep -nE '#include <(ranges|iostream|sstream|fstream|locale|regex|format)>' -r "$api/cpp"; then
  echo "FAILED: the SDK includes a heavy header"
  failed=1
fi
exit $failed
