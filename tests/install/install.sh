#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install.sh SOURCE BUILD WORK CXX - installs into an empty prefix, moves it, and uses agentd from there as
# somebody would who never saw the source: the main job, a hook by pkg-config, a hook by CMake.
set -u
exec < /dev/null # what this script is given is no message
source=$1 build=$2 work=$3 cxx=$4
. "$source/tests/abi/lib.sh"
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1

try "installs" sh -c "cmake --install '$build' --prefix '$work/first' > '$work/install.log'"
mv first prefix # what is installed holds no path of where it was installed
prefix=$work/prefix
agentd=$prefix/bin/agentd

for file in bin/agentd libexec/agentd/agentd-hook-worker libexec/agentd/agentd-cage lib/pkgconfig/agentd.pc \
  lib/agentd/hooks/{auto_compact,audit_log,guardrail,redact,session_memory,web_fetch,workspace_tools}.so \
  lib/cmake/agentd/{agentdConfig,agentdConfigVersion,AgentdHook}.cmake \
  include/agentd/{hook_abi.h,hook.hpp,fake_host.hpp,ext/tools.h,detail/module.hpp} \
  share/man/man1/agentd.1 share/bash-completion/completions/agentd share/zsh/site-functions/_agentd \
  share/fish/vendor_completions.d/agentd.fish share/doc/agentd/{README.md,LICENSE,docs/guide/plugin.md,docs/reference/cli.md} \
  share/agentd/template/hello.cpp; do
  try "has $file" test -s "$prefix/$file"
done

# A person's machine: a home, a path, and nothing of the build.
home=$work/home
mkdir -p -m 700 "$home/.agent" "$home/.agent/hooks"
as_user() { env -i HOME="$home" PATH="$prefix/bin:$PATH" TERM=dumb "$@"; }
holds() { grep -qF -- "$1" "$2" || { echo "no '$1' in:"; cat "$2"; return 1; }; }
names_no_place() { if grep -rlF -e "$work/first" "$prefix"/lib/cmake "$prefix"/lib/pkgconfig; then return 1; fi; }

try "names no place of its own" names_no_place
readme_names_what_is_there() {
  local name
  grep -oE '`[A-Z]+\.md`|docs/[a-z_/-]+(\.md)?' "$prefix/share/doc/agentd/README.md" | tr -d '`' | sort -u > pages
  [ "$(wc -l < pages)" -gt 8 ] || { echo "found only $(wc -l < pages) pages in README.md"; return 1; }
  while read -r name; do
    [ "$name" = AGENTS.md ] || [ -e "$prefix/share/doc/agentd/$name" ] || { echo "no $name"; return 1; }
  done < pages
}
try "README names pages that are there" readme_names_what_is_there
main_job() { bash "$source/docs/demo/run.sh" "$prefix" > "$work/demo.txt" 2>&1 || { cat "$work/demo.txt"; return 1; }; }
try "runs the main job" main_job

every_command_in_manual() {
  local name
  as_user "$agentd" --help | sed -n '/^Commands:/,/^Options:/p' | sed -nE 's/^  ([a-z]+( [a-z]+)?)  .*/\1/p' > names
  [ "$(wc -l < names)" -gt 20 ] || { echo "found only $(wc -l < names) commands in --help"; return 1; }
  while read -r name; do
    grep -q "^\.SS agentd $name" "$prefix/share/man/man1/agentd.1" || { echo "agentd(1) lacks $name"; return 1; }
  done < names
}
try "agentd(1) has every command" every_command_in_manual
completes() {
  bash -c '. "$1"; COMP_WORDS=(agentd conv) COMP_CWORD=1; _agentd; echo "${COMPREPLY[*]}"' - \
    "$prefix/share/bash-completion/completions/agentd" > completed
  holds conversation completed
}
try "bash completes" completes

# README's hook, in the language of C++, by one line and by CMake.
mkdir hook
awk '/^```cpp/ {on = 1; next} /^```/ {on = 0} on' "$source/README.md" > hook/hello.cpp
try "README has a hook" holds AGENTD_HOOK hook/hello.cpp
cat > answers.yaml <<'YAML'
- calls: [{name: bash, input: {command: "touch ran"}}]
- text: done
YAML
blocks() { # MODULE: dropped in, it blocks the shell; in a worker, which is found where it was installed
  rm -rf "$home" ran
  mkdir -p -m 700 "$home/.agent" "$home/.agent/hooks"
  install -m 755 "$1" "$home/.agent/hooks/hello.so"
  as_user "$agentd" run --script answers.yaml --allow bash --trace-hooks --no-save "go" > run.txt 2>&1 ||
    { cat run.txt; return 1; }
  holds "no shell here" run.txt && [ ! -e ran ]
}
by_pkg_config() {
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  "$cxx" -std=c++20 -O2 -shared $(pkg-config --cflags --libs agentd) hook/hello.cpp -o hook/by_line.so
}
unblocked() { # the control: without the hook the command runs
  as_user "$agentd" run --script answers.yaml --allow bash --no-save "go" > run.txt 2>&1
  [ -e ran ] || { cat run.txt; return 1; }
}
try "without a hook the shell runs" unblocked
if have pkg-config; then
  try "a hook builds by pkg-config" by_pkg_config
  try "validates clean" sh -c "HOME='$home' '$agentd' hooks validate hook/by_line.so > validate.txt 2>&1 || { cat validate.txt; exit 1; }
    grep -q ' 0 warnings, 0 failures' validate.txt"
  try "and blocks" blocks hook/by_line.so
fi
by_cmake() {
  cp -r "$prefix/share/agentd/template" template && cp hook/hello.cpp template/hello.cpp &&
    env -u AGENTD_PLUGIN_API cmake -S template -B template/build -DCMAKE_PREFIX_PATH="$prefix" \
      -DCMAKE_CXX_COMPILER="$cxx" > cmake.log 2>&1 && cmake --build template/build >> cmake.log 2>&1 ||
    { cat cmake.log; return 1; }
}
try "a hook builds by find_package" by_cmake
try "and blocks, too" blocks template/build/hello.so

# The packages: each unpacked somewhere, and used from there.
pack() { cpack --config "$build/CPackConfig.cmake" -G "$1" -B "$work/packages" > cpack.log 2>&1 || { cat cpack.log; return 1; }; }
says_done() { # PREFIX
  printf -- '- text: Done.\n' > done.yaml
  holds Done. <(env -i HOME="$home" PATH=/usr/bin:/bin "$1/bin/agentd" run --script done.yaml --no-save go 2>&1)
}
one_folder() { # with bin and lib in it, and nothing of /usr
  mkdir tarball && tar xzf packages/agentd-*.tar.gz -C tarball || return 1
  [ "$(ls tarball | wc -l)" = 1 ] && [ -x tarball/agentd-*/bin/agentd ] && [ -d tarball/agentd-*/lib/agentd/hooks ] &&
    [ ! -e tarball/agentd-*/usr ] || { find tarball -maxdepth 2; return 1; }
}
try "a tarball is made" pack TGZ
try "it is one folder" one_folder
try "and works in it" says_done "$(echo tarball/agentd-*)"
depends_on() { # PACKAGE...: the program loads them when they are needed
  local name
  dpkg-deb -f packages/agentd_*.deb Depends | tr ',|' '\n\n' | sed 's/^ *//; s/ .*//' > depends
  for name in "$@"; do grep -qx "$name" depends || { echo "$name is not named:"; cat depends; return 1; }; done
}
linked() { # what the program is linked with; the rest is loaded
  needs=$(objdump -p deb/usr/bin/agentd | sed -n 's/^ *NEEDED *//p')
  case $needs in *libasan* | *libtsan*) return 0 ;; esac # which nobody packs
  grep -vxE 'lib(c|m)\.so\.6|ld-linux.*' <<< "$needs" && return 1
  return 0
}
if have dpkg-deb && have dpkg-shlibdeps; then
  try "a .deb is made" pack DEB
  try "it lies under /usr" sh -c "dpkg-deb -x packages/agentd_*.deb deb && test -x deb/usr/bin/agentd"
  try "and works there" says_done deb/usr
  try "it is linked with the C library alone" linked
  try "it names what it loads" depends_on libc6 libcurl4 libedit2 libsqlite3-0 libxml2 "$(sed -n 's/.*, \(libre2-[0-9]*\).*/\1/p' "$build/CPackConfig.cmake" | head -1)"
fi
exit $failed
