#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# guide.sh PLUGIN_API GUIDE WORK CC CXX - every sample of a guide that names its file builds as it stands.
#
# A sample is a fence ```cpp NAME.cpp or ```c NAME.c. A source that includes the fake host becomes a test
# program, which is run; any other becomes a module. A sample may include one that came before it.
set -u
. "$(dirname "$0")/lib.sh"
api=$1 guide=$2 work=$3 cc=$4 cxx=$5
rm -rf "$work"
mkdir -p "$work"
awk -v dir="$work" '
  /^```(c|cpp) [a-z_]+\.(c|cpp)$/ { file = dir "/" $2; print $2 > (dir "/samples"); next }
  /^```/ { if (file != "") close(file); file = ""; next }
  file != "" { print > file }
' "$guide"
[ -s "$work/samples" ] || { echo "FAILED: no samples in $guide"; exit 1; }
warn="-Wall -Wextra -Wpedantic -Werror -fvisibility=hidden -I$api/include"
while read -r sample; do
  source=$work/$sample
  out=${source%.*}
  if grep -q 'fake_' "$source"; then
    try "$sample builds" "$cxx" -std=c++20 $warn -I"$api/cpp" -I"$api/testing" "$source" -o "$out" -pthread
    try "$sample passes" "$out"
  elif [ "${sample##*.}" = c ]; then
    try "$sample builds" "$cc" -std=c11 $warn -shared -fPIC "$source" -o "$out.so"
  else
    try "$sample builds" "$cxx" -std=c++20 $warn -I"$api/cpp" -shared -fPIC \
      -Wl,--version-script="$api/template/hook.map" "$source" -o "$out.so"
  fi
done <"$work/samples"
exit $failed
