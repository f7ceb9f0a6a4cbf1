#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers.sh PLUGIN_API WORK - the C headers compile alone, without a warning, wherever they promise to.
set -u
. "$(dirname "$0")/lib.sh"
api=$1 work=$2
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

strict="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fsyntax-only"
for compiler in gcc clang; do
  have $compiler || continue
  for standard in c11 c17; do
    for source in "$work"/*.c; do
      [ "$standard" = c11 ] || [ "$source" = "$all" ] || continue
      try "$compiler $standard $(basename "$source")" \
        $compiler -std=$standard $strict -I"$api/include" "$source"
    done
  done
done
if have tcc -v; then
  for source in "$work"/*.c; do
    try "tcc $(basename "$source")" tcc -Wall -Werror -I"$api/include" -c "$source" -o "$work/tcc.o"
  done
fi
for compiler in g++ clang++; do
  have $compiler || continue
  for standard in c++11 c++14 c++17 c++20 c++2b; do
    try "$compiler $standard all.c" $compiler -std=$standard $strict -I"$api/include" -x c++ "$all"
  done
  try "$compiler views.hpp alone" $compiler -std=c++20 $strict -I"$api/include" -I"$api/cpp" \
    -include agentd/views.hpp -x c++ /dev/null
  # Plugins may do without exceptions and without RTTI.
  for header in hook.hpp drafts.hpp build.hpp services.hpp call.hpp; do
    try "$compiler $header" $compiler -std=c++20 $strict -fno-exceptions -fno-rtti \
      -I"$api/include" -I"$api/cpp" -include "agentd/$header" -x c++ /dev/null
  done
done
if command -v x86_64-w64-mingw32-gcc >/dev/null 2>&1; then
  try "mingw-w64 all.c" x86_64-w64-mingw32-gcc -std=c11 $strict -I"$api/include" "$all"
else
  echo "skipped: no x86_64-w64-mingw32-gcc"
fi
# The C++ headers keep heavy parts of the library out of plugins.
if grep -nE '#include <(ranges|iostream|sstream|fstream|locale|regex|format)>' -r "$api/cpp"; then
  echo "FAILED: the SDK includes a heavy header"
  failed=1
fi
exit $failed
