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
  ignore_broken_pipes();
  notice_children();
  const bool out_tty = ::isatty(STDOUT_FILENO) != 0, err_tty = ::isatty(STDERR_FILENO) != 0;
  const bool colour = (out_tty || err_tty) && wants_colour();
  Output out(STDOUT_FILENO, out_tty, out_tty && colour),
      err(STDERR_FILENO, err_tty, err_tty && colour);
  Surroundings surroundings{environment,   current_directory(), executable(),
                            "/etc/agentd", STDIN_FILENO,        ::isatty(STDIN_FILENO) != 0};
  App app(std::move(surroundings), out, err);
  return app.main(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}
