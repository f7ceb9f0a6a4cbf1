#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that the build needs and that are missing. With CI set also the compilers
# that the proofs name, since a skipped proof is a failure there.
set -euo pipefail

packages=(
  build-essential cmake ninja-build git ca-certificates
  libboost1.81-dev libboost-program-options1.81-dev rapidjson-dev liblmdb-dev libyaml-cpp-dev libtomlplusplus-dev
  libspdlog-dev libre2-dev libsqlite3-dev libssl-dev libcurl4-openssl-dev liblzma-dev libgtest-dev libbenchmark-dev
  libseccomp-dev libedit-dev libxml2-dev
  bubblewrap  # the stronger layer of the sandbox
  faketime  # tests run on later days
  python3 jq bc  # hooks of the tests are written in them
)
if [ -n "${CI:-}" ]; then
  packages+=(nodejs)  # so are hooks of its tests
  packages+=(tmux gpg gpg-agent)  # programs that talk by local sockets, which the sandbox refuses
  packages+=(json-schema-test-suite libtest-json-schema-acceptance-perl)  # what schemas are held to
  packages+=(clang clang-tidy clang-format)  # the compiler of the turns, make lint, and what the tree is formatted with
  packages+=(tcc rustc ccache curl binutils pkgconf abigail-tools
    gcc-mingw-w64-x86-64-posix g++-mingw-w64-x86-64-posix)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
# A compiler that is there without its package (a toolchain of the user's own) is as good.
if [ -n "${CI:-}" ] && command -v rustc > /dev/null; then
  missing=("${missing[@]/rustc/}")
fi
read -r -a missing <<< "${missing[*]:-}"
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get > /dev/null; then
  echo "these Debian packages are missing and there is no apt-get to install them: ${missing[*]}" >&2
  exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
echo "installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
  "${missing[@]}" > /dev/null
