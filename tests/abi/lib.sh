# SPDX-License-Identifier: Apache-2.0
# lib.sh - what the scripts of this folder share. Source it.

# have COMPILER: true when it is there. A missing one is a skip that is told; with CI set, a failure.
have() {
  if command -v "$1" >/dev/null 2>&1 && "$1" ${2:---version} >/dev/null 2>&1; then return 0; fi
  lacks "$1"
  return 1
}

# lacks PROGRAM: tells that it is not there.
lacks() {
  if [ -n "${CI:-}" ]; then
    echo "FAILED: no $1, and CI is set"
    failed=1
  else
    echo "skipped: no $1"
  fi
}

# windows_compiler gcc|g++: the name of mingw-w64's.
windows_compiler() {
  command -v "x86_64-w64-mingw32-$1-posix" || command -v "x86_64-w64-mingw32-$1"
}

# try NAME COMMAND...: runs it, and tells what went wrong.
try() {
  local name=$1 text
  shift
  if text=$("$@" 2>&1) && [ -z "$text" ]; then
    echo "ok: $name"
  else
    echo "FAILED: $name"
    printf '%s\n' "$text" | head -40
    failed=1
  fi
}
failed=0
