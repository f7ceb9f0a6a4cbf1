// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string>
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

std::optional<std::string> environment(const std::string& name) {
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
