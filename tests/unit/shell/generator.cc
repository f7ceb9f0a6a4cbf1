// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/shell/generator.h"

#include <iterator>

namespace {

constexpr std::string_view kPrograms[] = {"alpha", "beta", "gamma", "git", "rm"};
constexpr std::string_view kPlain[] = {"x", "-x", "push", "a b", "delta", "--", "a;delta", "$(delta)", "#", "{}", "="};
constexpr std::string_view kJoints[] = {"; ", " && ", " || ", "\n", " & ", ";", "&&\n", " ;\n\n"};
constexpr std::string_view kDamages[] = {"\\\n", "'",   "\"", "`",        "$",     "#",      "&>x ", "{delta,b}",
                                         ";",    "|&",  "!",  "\xc2\xa0", "\\",    "(",      ")",    " delta ",
                                         "$'",   "$\"", "\n", "<<E\n",    "}",     "{ ",     "$((",  "<(delta)",
                                         ">&",   "\t",  "${", " -x ",     "then ", " time ", "=",    "\r"};
constexpr std::string_view kExpansions[] = {"$V",
                                            "\"$V\"",
                                            "${V}",
                                            "${N:-delta}",
                                            "\"${N:-$(delta)}\"",
                                            "$'delta'",
                                            "$\"delta\"",
                                            "$(( 1 + 2 ))",
                                            "$((V))",
                                            "~",
                                            "g*",
                                            "gamm[a]",
                                            "{delta,x}",
                                            "\"$@\"",
                                            "${V#d}",
                                            "\"${V%a}\"",
                                            "$((2*(3+4)))",
                                            "$E",
                                            "$W",
                                            "\"$W\"",
                                            "${V:=x}",
                                            "${#V}",
                                            "$#",
                                            "'$V'",
                                            "\\$V",
                                            "${N:-`delta`}",
                                            "$(($(delta)))"};
constexpr std::string_view kFixed[] = {"alias beta=delta\nbeta",
                                       "f() { delta; }; f",
                                       ". ./script",
                                       "source ./script",
                                       "PATH=./bin alpha",
                                       "trap delta EXIT",
                                       "command -v alpha",
                                       "echo delta | sh",
                                       "x=delta; $x",
                                       "set -- delta; \"$@\"",
                                       "[ -f x ] && alpha",
                                       "[[ -f x && beta ]]",
                                       "((1)) && alpha",
                                       "$E alpha",
                                       "readonly x=1; alpha",
                                       "exec 3>&1; alpha",
                                       "select x in a; do alpha; done",
                                       "coproc alpha",
                                       "time -p alpha",
                                       "hash -p ./bin/alpha beta; beta",
                                       "let 1; alpha",
                                       "printf -v x y; alpha",
                                       "export CI=1; alpha",
                                       "umask 022; alpha",
                                       "{ alpha; }",
                                       "eval \"alpha; $V\"",
                                       "eval 'alpha; beta'",
                                       "A=(alpha); ${A[0]}",
                                       "x='a[$(delta)]'; [ -v \"$x\" ]",
                                       "x='a[$(delta)]'; echo $((x))",
                                       "function f { delta; }; f",
                                       "read x <<< delta; $x",
                                       "> alpha",
                                       "alpha 2>&1 >x",
                                       "x=';'; find . -maxdepth 0 -exec alpha \"$x\" -exec delta ';'",
                                       "a=-v; b='x[$(delta)]'; test \"$a\" \"$b\" -o -n x",
                                       "sh -c - delta",
                                       "bash -c + delta",
                                       "bash -c -e - delta",
                                       "sh /dev/stdin < script",
                                       "echo delta | bash /dev/fd/0",
                                       "sh /proc/self/fd/0 < script",
                                       "sh < script",
                                       "exec < script; sh",
                                       "taskset 1 delta",
                                       "prlimit delta",
                                       "setarch delta",
                                       "uclampset -m 1 delta",
                                       "flock x delta"};
// Integers to bash, which evaluates what they are set to, and others.
constexpr std::string_view kNames[] = {"RANDOM", "SRANDOM", "SECONDS", "HISTCMD", "LINENO", "BASHPID", "EPOCHSECONDS",
                                       "OPTIND", "COLUMNS", "CI",      "x",       "TERM",   "LC_ALL",  "UID"};
struct Disguised {
  std::string_view before, option, after;
};
constexpr Disguised kDisguised[] = {{"find . -maxdepth 0 ", "-exec", " delta ';'"},
                                    {"find . -maxdepth 0 ", "-ok", " alpha ';'"},
                                    {"find . -maxdepth 0 ", "-name", " x"},
                                    {"printf ", "-v", " 'a[$(delta)]' x"},
                                    {"test ", "-v", " 'a[$(delta)]'"},
                                    {"[ ", "-v", " 'a[$(delta)]' ]"},
                                    {"test ", "-n", " 'a[$(delta)]'"},
                                    {"wait ", "-np", " 'a[$(delta)]'"},
                                    {"sh ", "-c", " delta"},
                                    {"bash ", "-ec", " delta"},
                                    {"env ", "-u", " x alpha"},
                                    {"xargs ", "-I", " alpha delta"},
                                    {"read ", "-r", " x"}};

}  // namespace

std::string ShellGenerator::next() {
  std::string out = list(0);
  if (once_in(5)) damage(out);
  return out;
}

std::string ShellGenerator::list(int depth) {
  std::string out = pipeline(depth);
  for (unsigned n = below(3); n > 0; --n) out += std::string(one_of(kJoints)) + pipeline(depth);
  if (once_in(12)) out += " # delta";
  return out;
}

std::string ShellGenerator::pipeline(int depth) {
  std::string out = once_in(10) ? "! " : "";
  out += command(depth);
  while (once_in(4)) out += (once_in(2) ? " | " : " |\n") + command(depth);
  return out;
}

std::string ShellGenerator::command(int depth) {
  if (depth > 3) return program();
  switch (below(10)) {
    case 0:
    case 1:
      return wrapped(depth + 1);
    case 2:
      return compound(depth + 1);
    case 3:
      return document(depth + 1);
    case 4:
      if (once_in(4)) return std::string(one_of(kFixed));
      if (once_in(6)) return setting();
      if (once_in(6)) return disguised();
      [[fallthrough]];
    default:
      return simple(depth);
  }
}

std::string ShellGenerator::compound(int depth) {
  switch (below(8)) {
    case 0:
      return "( " + list(depth) + "\n)";
    case 1:
      return "{ " + list(depth) + "\n}";
    case 2:
      return "if " + list(depth) + "\nthen " + list(depth) + "\nelse " + list(depth) + "\nfi";
    case 3:
      return "for i in a " + word(depth) + "; do " + list(depth) + "\ndone";
    case 4:
      return "while alpha; do " + list(depth) + "\nbreak; done" + redirection(depth);
    case 5:
      return "until false; do " + list(depth) + "\nbreak\ndone";
    case 6:
      return "case " + word(depth) + " in (a|delta) " + list(depth) + "\n;; *) " + list(depth) + "\nesac";
    default:
      return "(" + list(depth) + "\n)" + redirection(depth);
  }
}

std::string ShellGenerator::simple(int depth) {
  std::string out;
  if (once_in(8)) out += "CI=" + word(depth) + " ";
  if (once_in(10)) out += redirection(depth).substr(1) + " ";
  out += program();
  for (unsigned n = below(4); n > 0; --n) out += " " + word(depth);
  if (once_in(6)) out += redirection(depth);
  return out;
}

std::string ShellGenerator::wrapped(int depth) {
  const std::string inner = simple(depth);
  switch (below(16)) {
    case 0:
      return "env CI=1 " + inner;
    case 1:
      return "env -u A -- " + inner;
    case 2:
      return "timeout -k 1 5 " + inner;
    case 3:
      return "nice -n 1 " + inner;
    case 4:
      return "command " + inner;
    case 5:
      return "( exec " + inner + "\n)";
    case 6:
      return "alpha | xargs -n 1 " + inner;
    case 7:
      return "alpha | xargs -I % git % x";
    case 8:
      return "find . -maxdepth 0 -exec " + program() + " {} \\; -exec sh -c 'beta' \\;";
    case 9:
      return "sh -c " + in_quotes(list(depth));
    case 10:
      return "bash -ec " + in_quotes(list(depth)) + " x y";
    case 11:
      return "eval " + in_quotes(list(depth));
    case 12:
      return "stdbuf -oL " + inner;
    case 13:
      return "setsid -w " + inner;
    case 14:
      return "find . -maxdepth 0 -execdir " + program() + " {} +";
    default:
      return "sh -c 'alpha \"$1\"' sh " + word(depth);
  }
}

// A variable is set to what an evaluation would run.
std::string ShellGenerator::setting() {
  const std::string name(one_of(kNames)), value = once_in(4) ? "1" : "'a[$(delta)]'";
  switch (below(8)) {
    case 0:
      return name + "=" + value + " alpha";
    case 1:
      return name + "+=" + value + "; alpha";
    case 2:
      return "for " + name + " in " + value + "; do alpha; done";
    case 3:
      return "read -r " + name + " <<< " + value + "; alpha";
    case 4:
      return "export " + name + "=" + value + "; alpha";
    case 5:
      return "env " + name + "=" + value + " bash -c alpha";
    case 6:
      return "alpha ${" + name + ":=" + (once_in(2) ? "$(beta)" : "1") + "}";
    default:
      return name + "=" + value + "; alpha";
  }
}

// An option whose word is made of a known and an unknown part.
std::string ShellGenerator::disguised() {
  const Disguised& chosen = kDisguised[below(std::size(kDisguised))];
  const std::string option(chosen.option);
  const std::size_t at = below(static_cast<unsigned>(option.size()));
  const std::string before = option.substr(0, at), part = option.substr(at, 1), after = option.substr(at + 1);
  const std::string rest(chosen.after);
  switch (below(4)) {
    case 0:
      return std::string(chosen.before) + before + "{" + part + ".." + part + "}" + after + rest;
    case 1:
      return "x='" + part + "'; " + std::string(chosen.before) + before + "\"$x\"" + after + rest;
    case 2:
      return "x='" + part + "'; " + std::string(chosen.before) + before + "$x" + after + rest;
    default:
      return std::string(chosen.before) + before + "'" + part + "'" + after + rest;
  }
}

std::string ShellGenerator::word(int depth) {
  switch (below(depth > 3 ? 5 : 9)) {
    case 0:
    case 1:
      return in_quotes(std::string(one_of(kPlain)));
    case 2:
      return std::string(one_of(kExpansions));
    case 3:
      return "w" + std::string(one_of(kExpansions)) + "'q'";
    case 5:
      return "$(" + list(depth + 1) + ")";
    case 6:
      return "\"a $(" + list(depth + 1) + "\n) b\"";
    case 7:
      return once_in(2) ? "`" + program() + "`" : "\"`" + program() + " 'x'`\"";
    case 8:
      return once_in(3) ? "<(" + program() + ")" : "y";
    default:
      return std::string("-n");
  }
}

// A program, in some quotation, or named by a value.
std::string ShellGenerator::program() {
  const std::string name(one_of(kPrograms));
  switch (below(40)) {
    case 0:
      return "'" + name + "'";
    case 1:
      return "\"" + name + "\"";
    case 2:
      return name.substr(0, 1) + "''" + name.substr(1);
    case 3:
      return "\\" + name;
    case 4:
      return name.substr(0, 1) + "\\" + name.substr(1);
    case 5:
      return std::string(one_of(kExpansions));
    case 6:
      return "./bin/" + name;
    case 7:
      return name.substr(0, 1) + "\\\n" + name.substr(1);
    default:
      return name;
  }
}

std::string ShellGenerator::in_quotes(const std::string& text) {
  if (text.find('\'') == std::string::npos && !once_in(4)) return "'" + text + "'";
  std::string out = "\"";
  for (const char c : text) {
    if (std::string_view("\"\\$`").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string ShellGenerator::redirection(int depth) {
  switch (below(7)) {
    case 0:
      return " >out";
    case 1:
      return " 2>/dev/null";
    case 2:
      return " 2>&1";
    case 3:
      return " </dev/null";
    case 4:
      return " >>\"$(" + program() + ")\"";
    case 5:
      return " <<< " + word(depth);
    default:
      return " >&2";
  }
}

std::string ShellGenerator::document(int depth) {
  const bool quoted = once_in(2);
  const bool strips = once_in(3);
  std::string out = "cat " + std::string(strips ? "<<-" : "<<") + (quoted ? "'E'" : "E");
  if (once_in(3)) out += " | " + program();
  out += "\ndelta $(" + program() + ") `" + program() + "` \"it's\n";
  if (once_in(3)) out += "$(" + list(depth + 1) + ")\n";
  return out + (strips ? "\tE\n" : "E\n");
}

void ShellGenerator::damage(std::string& text) {
  for (unsigned n = 1 + below(2); n > 0; --n) {
    const std::size_t at = below(static_cast<unsigned>(text.size() + 1));
    if (once_in(4) && at < text.size())
      text.erase(at, 1);
    else
      text.insert(at, one_of(kDamages));
  }
}
