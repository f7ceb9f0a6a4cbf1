// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/shell/shell.h"

namespace agentd::testing {
namespace {

// "git push; ls ...": the commands of a reading, with "..." for what is not known.
std::string commands_of(std::string_view text) {
  std::string out;
  for (const ShellCommand& command : split_command(text).commands) {
    if (!out.empty()) out += "; ";
    std::string words;
    for (const std::string& name : command.assigned) words += (words.empty() ? "" : " ") + name + "=";
    for (const ShellWord& word : command.words) {
      if (!words.empty()) words += ' ';
      for (const char c : word.text) words += c == kUnknownPart ? std::string("...") : std::string(1, c);
    }
    for (const ShellRedirection& each : command.redirections)
      words += (each.writes ? ">" : "<") + (each.target.known() ? each.target.text : "...");
    out += words;
  }
  return out;
}

struct Case {
  std::string_view text, commands;
};

TEST(SplitCommand, NamesEveryCommandOfASureReading) {
  const Case cases[] = {
      {"git push", "git push"},
      {"git 'pu'\"sh\" ori\\gin", "git push origin"},
      {"cd x && git push || ls; pwd & wait", "cd x; git push; ls; pwd; wait"},
      {"a | b |& c\nd", "a; b; c; d"},
      {"! a; ( b; c ) >out; { d; } 2>&1", "a; b; c; >out; d"},
      {"if a; then b; elif c; then d; else e; fi", "a; b; c; d; e"},
      {"while a; do b; done <in; until c; do d; done", "a; b; <in; c; d"},
      {"for i in 1 $(seq 3); do echo \"$i\"; done", "seq 3; echo ..."},
      {"for i\ndo a; done", "a"},
      {"case $x in (a|b) c;; *) d;; esac", "c; d"},
      {"x=$(a) y=`b`; CI=$(c) LC_ALL=C d", "a; b; x= y=; c; CI= LC_ALL= d"},
      {"echo \"$(a \"$(b)\")\" `c`", "b; a ...; c; echo ... ..."},
      {"diff <(a) >(b)", "a; b; diff ... ..."},
      {"cat <<E | c\n$(a) `b` 'it\nE\nd", "cat; c; a; b; d"},
      {"cat <<'E'\n$(a)\nE\nd", "cat; d"},
      {"cat <<-E\n\tx\n\tE\nd", "cat; d"},
      {"a <<< \"$(b)\"", "b; a"},
      {"echo $(( 1 + (2 * 3) ))", "echo ..."},
      {"echo ${x:-$(a)} \"${y#*/}\" ${#z}", "a; echo ... ... ..."},
      {"ls \\\n  -l # $(no)", "ls -l"},
      {"echo a#b '#' \\# ", "echo a#b # #"},
      {"a > x 2>> y <z 3>&1 >|w <>v", "a>x>y<z>w>v"},
      {"a >\"$(b)\"", "b; a>..."},
      {"rm *.c ~/x {a,b} $x", "rm ....c .../x ... ..."},
      {"[ -f \"$x\" ] && test a = \"$b\"", "[ -f ... ]; test a = ..."},
      {"A=1 B=2", "A= B="},
      {"read -r line; for i in a; do unset x; done; b ${y:=z}", "read -r line; unset x; b ..."},
      {"[ ! -f \"$x\" ] || [ \"$x\" -nt y ] || test -n \"$x\"", "[ ! -f ... ]; [ ... -nt y ]; test -n ..."},
      {"find . -name \"*.$x\" -newer \"a$y\"", "find . -name *.... -newer a..."},
      {"a 2>&- 3<&1- </dev/null", "a</dev/null"},
  };
  for (const Case& each : cases) {
    const ShellReading reading = split_command(each.text);
    EXPECT_TRUE(reading.sure) << each.text << ": " << reading.why_not_sure;
    EXPECT_EQ(commands_of(each.text), each.commands) << each.text;
  }
}

TEST(SplitCommand, UnwrapsWhatRunsItsArguments) {
  const Case cases[] = {
      {"env -u B CI=1 git push", "env -u B CI=1 git push; CI= git push"},
      {"timeout -k 1 --signal=TERM 5 a b", "timeout -k 1 --signal=TERM 5 a b; a b"},
      {"nohup nice -n 5 a", "nohup nice -n 5 a; nice -n 5 a; a"},
      {"time -p a", "time -p a; a"},
      {"command -p a; command -v b", "command -p a; a; command -v b"},
      {"exec /usr/bin/env a", "exec /usr/bin/env a; /usr/bin/env a; a"},
      {"sudo -u x rm y", "sudo -u x rm y; rm y"},
      {"a | xargs -n 1 rm -f", "a; xargs -n 1 rm -f; rm -f ..."},
      {"xargs -I{} mv {} {}.bak", "xargs -I{} mv {} ...; mv ... ..."},
      {"xargs", "xargs; echo ..."},
      {"find . -name '*.c' -exec rm {} \\; -execdir a {} +",
       "find . -name *.c -exec rm {} ; -execdir a {} +; rm ...; a ..."},
      {"sh -c 'a; b \"$1\"' x y", "sh -c a; b \"$1\" x y; a; b ..."},
      {"bash -euo pipefail -c a", "bash -euo pipefail -c a; a"},
      {"eval 'a; b' c", "eval a; b c; a; b c"},
      {"watch -n 1 'a; b'", "watch -n 1 a; b; a; b"},
      {"sh -c \"sh -c 'a'\"", "sh -c sh -c 'a'; sh -c a; a"},
      {"busybox rm x", "busybox rm x; rm x"},
      {"sh ./script x", "sh ./script x"},
      {"python3 -c 'import os'", "python3 -c import os"},
  };
  for (const Case& each : cases) {
    const ShellReading reading = split_command(each.text);
    EXPECT_TRUE(reading.sure) << each.text << ": " << reading.why_not_sure;
    EXPECT_EQ(commands_of(each.text), each.commands) << each.text;
  }
}

TEST(SplitCommand, IsNotSureOfWhatDependsOnMoreThanTheText) {
  const std::string_view texts[] = {
      "$x y",
      "$(a) b",
      "`a`",
      "\"$x\"",
      "g?t push",
      "{rm,x}",
      "~/bin/a",
      "'' $x; ./$y",
      "f() { a; }; f",
      "function f { a; }",
      "alias a=b",
      ". ./x",
      "source x",
      "trap 'a' EXIT",
      "coproc a",
      "eval \"$x\"",
      "sh",
      "a | sh",
      "sh -s x",
      "bash -lc a",
      "bash -c \"$x\"",
      "bash <<E\na\nE",
      "bash --rcfile x -c a",
      "zsh -c a",
      "env -S 'a b'",
      "env $x a",
      "env -i a",
      "env PATH=/x a",
      "sudo -i",
      "timeout --unknown 5 a",
      "timeout $t a",
      "xargs $x",
      "xargs -I X X",
      "flock x a",
      "strace a",
      "find $x",
      "find . $y",
      "PATH=/x a",
      "LD_PRELOAD=x a",
      "export PATH=/x; a",
      "export \"$x\"",
      "read PATH; a",
      "for PATH in x; do a; done",
      "IFS=/; a",
      "${PATH:=x}",
      "echo ${PATH:=x}",
      "GIT_SSH_COMMAND=x git push",
      "a &> b",
      "[[ a < b ]]",
      "((a))",
      "echo $((x))",
      "echo $[1]",
      "echo ${!x} ",
      "echo ${x[0]}",
      "echo ${x@P}",
      "a=(b)",
      "a[0]=b",
      "[ -v \"$x\" ]",
      "[ $x ]",
      "printf -v a b",
      "time -f x a",
      "time { a; }",
      "select x in a; do b; done",
      "echo $'a\\'b'",
      "echo `a \\`b\\``",
      "a\\\nb",
      "cat <<E\na",
      "cat <<$x\na\n$x",
      "cat <<E \"a\nb\"\nE",
      "a 'b",
      "a \"b",
      "a `b",
      "a $(b",
      "a ${b",
      "(a",
      "{ a",
      "if a",
      "a )",
      "a; done",
      "a\xc2\xa0"
      "b",
      "a\xe2\x80\x8b b",
      "a \r",
      "a \x1b",
      "set -k; a",
      "shopt -s extglob",
      "hash -p x a",
      "mapfile -C a",
      "a \\",
      "RANDOM='a[$(b)]'; ls",
      "SRANDOM='a[$(b)]'; ls",
      "HISTCMD='a[$(b)]' ls",
      "SECONDS='a[$(b)]'; ls",
      "BASHPID+='a[$(b)]'; ls",
      "LINENO='a[$(b)]'; ls",
      "for SECONDS in 'a[$(b)]'; do ls; done",
      "read -r RANDOM",
      "read -r line RANDOM",
      "export RANDOM='a[$(b)]'",
      "readonly SECONDS='a[$(b)]'",
      "echo ${RANDOM:=1}",
      "getopts a SECONDS",
      "getopts {a,SECONDS} x",
      "find . -exe{c..c} touch x ';'",
      "x=xec; find . -e\"$x\" touch x ';'",
      "find . \"-$x\"",
      "find . -exec a \"$x\" -exec b ';'",
      "find . -exec a \"$x\" \"-$y\" b ';'",
      "printf -{v..v} PATH x",
      "printf \"-$x\" PATH x",
      "test -{v..v} 'a[$(b)]'",
      "test \"-$x\" 'a[$(b)]'",
      "test \"$a\" \"$b\" -o -n x",
      "test \"$a\" \"$b\"",
      "test *",
      "[ -n * ]",
      "xargs test -n",
      "wait -np 'a[$(b)]'",
      "wait \"-$x\"",
      "LC_ALL=zh_CN.GBK ls",
      "LC_CTYPE=zh_CN.GBK; ls",
      "export LANG=\"$x\"",
      "LANGUAGE=x ls",
      "FOO=1 a",
      "x=1 a",
      "env x=1 a",
      "export x; a",
      "COMPILER_PATH=x gcc a.c",
      "http_proxy=x; curl y",
      "npm_config_x=y; npm z",
      "A+=./x a",
      "CI+=1 a",
      "sh -c - a",
      "bash -c + a",
      "bash -c -e - a",
      "bash /dev/stdin",
      "bash /dev/fd/0",
      "sh //proc/self/fd/0",
      "sh ../../dev/stdin",
      "a 10>x",
      "a 10<x",
      "a < /dev/tcp/h/9",
      "a < \"$x\"",
      "a < \"/dev/$x\"",
      "a > /dev/udp/h/9",
      "exec < x; a",
      "exec <<E\nx\nE\na",
      "memusage a",
      "sotruss a",
      "coreutils --coreutils-prog=env a",
      "uclampset a",
      "sshpass a",
  };
  for (const std::string_view text : texts) {
    const ShellReading reading = split_command(text);
    EXPECT_FALSE(reading.sure) << text;
    EXPECT_FALSE(reading.why_not_sure.empty()) << text;
  }
  EXPECT_FALSE(split_command(std::string_view("a\0b", 3)).sure);
}

TEST(SplitCommand, IsNotSureOfProgramsThatGitIsTold) {
  for (const std::string_view text : {"git -c alias.p=push p nowhere",
                                      "git -c 'alias.x=!rm -v a' x",
                                      "git -c core.pager=rm log",
                                      "git -C d -c core.editor=rm commit",
                                      "git -c sequence.editor=x rebase -i a",
                                      "git -c difftool.x.cmd=rm difftool",
                                      "git -c include.path=x status",
                                      "git -c \"$x\" status",
                                      "git -c $x.y=z status",
                                      "git --config-env=alias.p=x p",
                                      "git --config-env alias.p=x p",
                                      "git --exec-path=/x push",
                                      "git submodule foreach 'rm x'",
                                      "git submodule --quiet foreach rm x",
                                      "git submodule $x rm",
                                      "git bisect run rm x",
                                      "git rebase --exec 'rm x' a",
                                      "git rebase --exe='rm x' a",
                                      "git rebase -x rm a",
                                      "git rebase -ix rm a",
                                      "git rebase \"$x\"",
                                      "git filter-branch --tree-filter 'rm x'",
                                      "git difftool -x rm",
                                      "git difftool --extcmd=rm",
                                      "git fetch --upload-pack rm .",
                                      "git clone -u rm . x",
                                      "git clone -c core.fsmonitor=x . x",
                                      "git ls-remote --upload=rm .",
                                      "git push --receive-pack=rm .",
                                      "git push --exec=rm .",
                                      "git $x p",
                                      "git \"$x\" p",
                                      "git -C $x p",
                                      "git --git-dir=$x p",
                                      "git pull --upload-pack=rm",
                                      "git archive --remote=. --exec=rm",
                                      "git grep -Orm x",
                                      "git grep --open-files-in-pager=rm x",
                                      "git for-each-repo --config=x push",
                                      "git submodule--helper foreach x",
                                      "git-rebase -x rm a",
                                      "/usr/lib/git-core/git-filter-branch --tree-filter x",
                                      "env git -c alias.p=push p"}) {
    const ShellReading reading = split_command(text);
    EXPECT_FALSE(reading.sure) << text;
    EXPECT_FALSE(reading.why_not_sure.empty()) << text;
  }
}

TEST(SplitCommand, IsSureOfGitWhereItRunsItself) {
  const Case cases[] = {
      {"git -C d -c user.name=\"$x\" -c core.quotePath=off --no-pager log -x",
       "git -C d -c user.name=... -c core.quotePath=off --no-pager log -x"},
      {"git --git-dir=x --work-tree y status", "git --git-dir=x --work-tree y status"},
      {"git --exec-path", "git --exec-path"},
      {"git submodule update --init $x", "git submodule update --init ..."},
      {"git rebase -Xours -i a", "git rebase -Xours -i a"},
      {"git push origin \"$x\"; git pull $y", "git push origin ...; git pull ..."},
      {"git push -u origin main", "git push -u origin main"},
      {"git fetch --recurse-submodules -j4 -- $x", "git fetch --recurse-submodules -j4 -- ..."},
      {"git grep -eO x", "git grep -eO x"},
      {"git bisect good run", "git bisect good run"},
      {"git commit -m \"$x\"", "git commit -m ..."},
      {"git -C \"$x\" \"a$y\" push", "git -C ... a... push"},
      {"git-push a", "git-push a; git push a"},
      {"/usr/lib/git-core/git-push a", "/usr/lib/git-core/git-push a; git push a"},
      {"git-cliff -x", "git-cliff -x"},
  };
  for (const Case& each : cases) {
    const ShellReading reading = split_command(each.text);
    EXPECT_TRUE(reading.sure) << each.text << ": " << reading.why_not_sure;
    EXPECT_EQ(commands_of(each.text), each.commands) << each.text;
  }
}

TEST(SplitCommand, AnUnsureReadingHasTheCommandsUpToThere) {
  EXPECT_EQ(commands_of("rm x; \"$y\" z; a 'b"), "rm x; ... z; a");
  EXPECT_EQ(commands_of("PATH=/x rm y"), "PATH= rm y");
}

// "a b c": the programs whose input the text chooses.
std::string fed_of(std::string_view text) {
  std::string out;
  for (const ShellCommand& command : split_command(text).commands)
    if (command.fed && !command.words.empty()) out += (out.empty() ? "" : " ") + command.words.front().text;
  return out;
}

TEST(SplitCommand, SaysWhoseInputTheTextChooses) {
  const Case cases[] = {
      {"a <<E\nx\nE\nb", "a"},
      {"a <<< x; b", "a"},
      {"a < x; b 2>y", "a"},
      {"a | b; c", "b"},
      {"a | { b; sh -c 'c'; }; d", "b sh c"},
      {"{ a; b; } < x; c", "a b"},
      {"while a; do b; done <<E\nx\nE\nc", "a b"},
      {"a >(b) | c <(d); e", "b d c"},
      {"a <x >\"$(b)\"; c \"$(d)\"", "b a"},
      {"a <x <<E\n$(b)\nE", "a b"},
      {"env a <&3; b 0>&3; c 2>&1 </dev/null", "env a b"},
  };
  for (const Case& each : cases) EXPECT_EQ(fed_of(each.text), each.commands) << each.text;
}

TEST(SplitCommand, SaysWhetherItSetsWhatProgramsSee) {
  for (const char* text : {"CI=1 a", "TERM=x; a", "env CI=1 a", "export CI=1", "for TZ in x; do a; done", "LC_ALL=C a"})
    EXPECT_TRUE(split_command(text).sets_environment) << text;
  for (const char* text : {"x=1; a", "a CI=1", "for i in x; do a; done"})
    EXPECT_FALSE(split_command(text).sets_environment) << text;
}

TEST(SplitCommand, AFileIsNoDescriptor) {
  EXPECT_EQ(commands_of("a >&1-2"), "a>1-2");
  EXPECT_EQ(commands_of("a >&1- 2>&- 3>&22 >&--"), "a>--");
}

TEST(SplitCommand, OnlyWhatAddsNothingWraps) {
  EXPECT_TRUE(split_command("timeout 5 a").commands.front().wraps);
  EXPECT_TRUE(split_command("sh -c a").commands.front().wraps);
  EXPECT_FALSE(split_command("sudo a").commands.front().wraps);
  EXPECT_FALSE(split_command("env").commands.front().wraps);
  EXPECT_FALSE(split_command("./timeout 5 a").commands.front().wraps);
  EXPECT_TRUE(split_command("/usr/bin/env a").commands.front().wraps);
  EXPECT_FALSE(split_command("sh ./a").commands.front().wraps);
}

TEST(SplitCommand, IsBounded) {
  std::string deep, long_text, many, braces, sums;
  for (int i = 0; i < 20'000; ++i) deep += "$(";
  for (int i = 0; i < 12'000; ++i) braces += "${x:-";
  for (int i = 0; i < 15'000; ++i) sums += "$((";
  for (int i = 0; i < 5'000; ++i) many += "a;";
  long_text.assign(100'000, 'a');
  std::string quoted = "a";
  for (int i = 0; i < 12; ++i) {
    std::string next = "sh -c \"";
    for (const char c : quoted) next += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    quoted = next + "\"";
  }
  for (const std::string& text : {deep, braces, "\"" + braces, sums, long_text, many, "(" + deep, "{ " + deep,
                                  std::string(30'000, '('), std::string(60'000, '`'), quoted + quoted})
    EXPECT_FALSE(split_command(text).sure) << text.substr(0, 40);
}

}  // namespace
}  // namespace agentd::testing
