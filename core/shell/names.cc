// SPDX-License-Identifier: Apache-2.0
// names.cc - names that the shell or programs give a meaning.
#include <algorithm>

#include "core/shell/reading.h"

namespace agentd::shell {
namespace {

constexpr std::string_view kReserved[] = {"!",    "{",  "}",   "case",     "do",     "done",  "elif",  "else",
                                          "esac", "fi", "for", "if",       "in",     "then",  "until", "while",
                                          "time", "[[", "]]",  "function", "select", "coproc"};

// Variables that decide which program is found, or make a program run another one.
constexpr std::string_view kDeciding[] = {"PATH",
                                          "IFS",
                                          "ENV",
                                          "HOME",
                                          "SHELL",
                                          "SHELLOPTS",
                                          "BASHOPTS",
                                          "CDPATH",
                                          "PAGER",
                                          "MANPAGER",
                                          "EDITOR",
                                          "VISUAL",
                                          "BROWSER",
                                          "FCEDIT",
                                          "PS0",
                                          "PS1",
                                          "PS2",
                                          "PS4",
                                          "GLOBIGNORE",
                                          "EXECIGNORE",
                                          "PROMPT_COMMAND",
                                          "LESSOPEN",
                                          "LESSCLOSE",
                                          "LESS",
                                          "LESSEDIT",
                                          "MAKEFLAGS",
                                          "MAKEFILES",
                                          "GNUMAKEFLAGS",
                                          "CLASSPATH",
                                          "PERLLIB",
                                          "PERL5LIB",
                                          "PERL5OPT",
                                          "PERL5DB",
                                          "NODE_OPTIONS",
                                          "NODE_PATH",
                                          "CC",
                                          "CXX",
                                          "CPP",
                                          "LD",
                                          "AR",
                                          "AS",
                                          "FC",
                                          "RSYNC_RSH",
                                          "CVS_RSH",
                                          "SSH_ASKPASS",
                                          "SUDO_ASKPASS",
                                          "TAR_OPTIONS",
                                          "GCONV_PATH",
                                          "LOCPATH",
                                          "RUBYOPT",
                                          "RUBYLIB",
                                          "RUSTC",
                                          "RUSTFLAGS",
                                          "RUSTC_WRAPPER",
                                          "DOCKER_HOST",
                                          "KUBECONFIG",
                                          "POSIXLY_CORRECT",
                                          "OPTIND",
                                          "MAIL",
                                          "MAILPATH",
                                          "HISTFILE",
                                          "TERMINFO",
                                          "TERMCAP",
                                          "_JAVA_OPTIONS",
                                          "JAVA_TOOL_OPTIONS",
                                          "JDK_JAVA_OPTIONS",
                                          "XDG_CONFIG_HOME",
                                          "XDG_DATA_DIRS",
                                          "EMACSLOADPATH",
                                          "INPUTRC"};
constexpr std::string_view kDecidingBegin[] = {"LD_",     "DYLD_",     "BASH_",   "GIT_", "PYTHON", "GO",
                                               "CARGO_",  "npm_",      "NPM_",    "PIP_", "UV_",    "MAVEN_",
                                               "GRADLE_", "COMPOSER_", "BUNDLE_", "GEM_", "LUA_",   "ZDOTDIR",
                                               "MALLOC_", "GLIBC_",    "GTK_",    "QT_",  "AGENTD_"};
constexpr std::string_view kHarmless[] = {
    "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "GIT_TERMINAL_PROMPT", "CARGO_TERM_COLOR", "GOOS", "GOARCH"};

template <std::size_t N>
bool holds(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

bool is_name(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && fits(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return fits(c) || (c >= '0' && c <= '9'); });
}

bool is_reserved(std::string_view word) { return holds(kReserved, word); }

bool decides_programs(std::string_view name) {
  if (holds(kHarmless, name)) return false;
  return holds(kDeciding, name) || std::any_of(std::begin(kDecidingBegin), std::end(kDecidingBegin),
                                               [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace agentd::shell
