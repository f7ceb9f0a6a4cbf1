// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/shell/generator.h"

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
                                       "export A=1; alpha",
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
                                       "alpha 2>&1 >x"};

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
  if (once_in(8)) out += "A=" + word(depth) + " ";
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
      return "env A=1 " + inner;
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
