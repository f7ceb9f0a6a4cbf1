// SPDX-License-Identifier: Apache-2.0
// names.cc - names that the shell or programs give a meaning.
#include <algorithm>

#include "core/shell/reading.h"

namespace agentd::shell {
namespace {

constexpr std::string_view kReserved[] = {"!",    "{",  "}",   "case",     "do",     "done",  "elif",  "else",
                                          "esac", "fi", "for", "if",       "in",     "then",  "until", "while",
                                          "time", "[[", "]]",  "function", "select", "coproc"};

// Variables that programs know, and that neither name a program nor what one loads.
constexpr std::string_view kHarmless[] = {"CARGO_TERM_COLOR",
                                          "CI",
                                          "CLICOLOR",
                                          "CLICOLOR_FORCE",
                                          "COLORTERM",
                                          "DEBIAN_FRONTEND",
                                          "DEBUG",
                                          "FORCE_COLOR",
                                          "GIT_TERMINAL_PROMPT",
                                          "GOARCH",
                                          "GOOS",
                                          "NODE_ENV",
                                          "NO_COLOR",
                                          "PORT",
                                          "PYTHONDONTWRITEBYTECODE",
                                          "PYTHONHASHSEED",
                                          "PYTHONUNBUFFERED",
                                          "RUST_BACKTRACE",
                                          "RUST_LOG",
                                          "TERM",
                                          "TZ",
                                          "VERBOSE"};
// Locales in which a byte of 0x80 or more is neither a blank nor an operator, nor is an ASCII byte a part of another
// character.
constexpr std::string_view kLocales[] = {"C", "POSIX", "C.UTF-8", "C.utf8", "en_US.UTF-8", "en_US.utf8"};
// Variables in lower case that programs or interactive shells obey.
constexpr std::string_view kKnownInLowerCase[] = {"_", "auto_resume", "histchars"};

}  // namespace

bool is_name(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && fits(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return fits(c) || (c >= '0' && c <= '9'); });
}

bool is_reserved(std::string_view word) { return holds(kReserved, word); }

bool is_local(std::string_view name) {
  if (holds(kKnownInLowerCase, name) || name.ends_with("_proxy") || name.starts_with("npm_")) return false;
  const bool upper = std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return !upper || name.size() == 1;
}

// Some names are integers to bash: it evaluates what they are set to, with the substitutions in it. Others name
// programs, or what programs load. No list of them is complete, so this is the list of the others.
void Reading::sets(std::string_view name, bool exported, const ShellWord* value) {
  const bool is_locale = name == "LANG" || name == "LANGUAGE" || name.starts_with("LC_");
  const bool usual_locale = is_locale && value != nullptr && holds(kLocales, value->text);
  if (holds(kHarmless, name) || usual_locale)
    out_.sets_environment = true;
  else if (exported || !is_local(name))
    doubt("it sets " + std::string(name) + ", which may decide what programs do");
}

}  // namespace agentd::shell

bool agentd::is_grammar(std::string_view word) { return shell::is_reserved(word) && word != "time" && word != "in"; }
