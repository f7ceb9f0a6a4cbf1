// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/app/app.h"
#include "core/app/signals.h"
#include "core/base/file.h"
#include "core/process/births.h"
#include "core/store/lmdb/fault.h"

namespace {

std::string current_directory() {
  char path[PATH_MAX];
  return ::getcwd(path, sizeof path) == nullptr ? std::string() : std::string(path);
}

std::string executable() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return length < 0 ? std::string() : std::string(path, static_cast<std::size_t>(length));
}

// Values of the environment that nobody but this program needs, such as keys of providers.
std::map<std::string, std::string>& secrets() {
  static std::map<std::string, std::string> all;
  return all;
}

bool is_secret(std::string_view name) {
  static constexpr std::string_view kWords[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"};
  return std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

// Takes them out of the environment and overwrites them where they stood: what the kernel shows of
// it in /proc can be read by every command that a model runs. REQUIRES: no other thread.
void hide_secrets() {
  char** kept = environ;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string name(text.substr(0, text.find('=')));
    if (name.size() == text.size() || !is_secret(name)) {
      *kept++ = *entry;
      continue;
    }
    secrets().emplace(name, text.substr(name.size() + 1));
    ::explicit_bzero(*entry, text.size());
  }
  if (kept != nullptr) *kept = nullptr;
}

std::optional<std::string> environment(const std::string& name) {
  if (const auto secret = secrets().find(name); secret != secrets().end()) return secret->second;
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool wants_colour() {
  const std::string terminal = environment("TERM").value_or("");
  return environment("NO_COLOR").value_or("").empty() && !terminal.empty() && terminal != "dumb";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace agentd::app;
  // Before anything is opened: a file of the store must not be standard output.
  const unsigned closed = agentd::open_standard_descriptors();
  hide_secrets();
  ignore_broken_pipes();
  notice_children();
  agentd::catch_store_faults();
  (void)agentd::adopt_orphans();  // without it /proc is searched for what commands leave behind
  const bool out_tty = ::isatty(STDOUT_FILENO) != 0, err_tty = ::isatty(STDERR_FILENO) != 0;
  const bool colour = (out_tty || err_tty) && wants_colour();
  // What is written to an output that was closed is an error at the end, not a success that nobody sees.
  const int out_fd = (closed & 1u << STDOUT_FILENO) != 0 ? -1 : STDOUT_FILENO;
  Output out(out_fd, out_tty, out_tty && colour),
      err(STDERR_FILENO, err_tty, err_tty && colour);
  Surroundings surroundings{environment,   current_directory(), executable(),
                            "/etc/agentd", STDIN_FILENO,        ::isatty(STDIN_FILENO) != 0};
  App app(std::move(surroundings), out, err);
  return app.main(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}
