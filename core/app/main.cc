// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/app/app.h"
#include "core/app/exit_codes.h"
#include "core/app/signals.h"
#include "core/base/file.h"
#include "core/base/secret_text.h"
#include "core/config/config_keys.h"
#include "core/process/births.h"
#include "core/process/guard.h"
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

// Environment values that only this program needs, such as provider keys: a module in a forked copy of this
// process sees none of them.
class Secrets {
 public:
  // For that many bytes, all in all.
  void make_room(std::size_t bytes) { memory_ = agentd::SecretText(bytes); }
  // "NAME=value".
  void add(std::string_view text) {
    if (text.size() > memory_.room() - used_) return;
    std::copy(text.begin(), text.end(), memory_.data() + used_);
    all_.emplace_back(memory_.data() + used_, text.size());
    used_ += text.size();
  }
  std::optional<std::string> find(std::string_view name) const {
    for (const std::string_view each : all_)
      if (each.starts_with(name) && each.substr(name.size()).starts_with('='))
        return std::string(each.substr(name.size() + 1));
    return std::nullopt;
  }

 private:
  agentd::SecretText memory_;
  std::size_t used_ = 0;
  std::vector<std::string_view> all_;
};

Secrets& secrets() {
  static Secrets& all = *new Secrets;  // threads may ask until the very end
  return all;
}

bool is_secret(std::string_view name) {
  static constexpr std::string_view kWords[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

bool holds_secret(std::string_view entry) {
  const std::size_t name = entry.find('=');
  return name != std::string_view::npos && is_secret(entry.substr(0, name));
}

// Removes them from the environment and overwrites them there, because every command that a model runs can read
// /proc. REQUIRES: no other thread.
void hide_secrets() {
  std::size_t bytes = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (holds_secret(*entry)) bytes += std::strlen(*entry);
  if (bytes == 0) return;
  secrets().make_room(bytes);
  char** kept = environ;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!holds_secret(*entry)) {
      *kept++ = *entry;
      continue;
    }
    secrets().add(*entry);
    ::explicit_bzero(*entry, std::strlen(*entry));
  }
  *kept = nullptr;
}

std::vector<std::string> own_variables() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(agentd::kOwnPrefix)) out.emplace_back(text.substr(0, text.find('=')));
  }
  return out;
}

std::optional<std::string> environment(const std::string& name) {
  if (auto secret = secrets().find(name)) return secret;
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool wants_colour() {
  const std::string terminal = environment("TERM").value_or("");
  return environment("NO_COLOR").value_or("").empty() && !terminal.empty() && terminal != "dumb";
}

// Most threads do little and end soon. By the C library's own measure each would have an arena and a stack that
// is mapped for it alone and given back at its end, which costs more than the thread.
void keep_threads_small() {
  constexpr int kArenasMax = 2;
  constexpr std::size_t kStackBytes = 1u << 20;
  ::mallopt(M_ARENA_MAX, kArenasMax);
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return;
  if (::pthread_attr_setstacksize(&attributes, kStackBytes) == 0) (void)::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

// Without an allocation.
int no_more(const char* what) {
  for (const char* const part : {"agentd: the system refuses this process more ", what,
                                 ": raise its limits ('ulimit -a' shows them) and try again\n"})
    (void)!::write(STDERR_FILENO, part, std::strlen(part));
  return agentd::app::kExitFailure;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace agentd::app;
  // Before anything is opened: a file of the store must not be standard output.
  const unsigned closed = agentd::open_standard_descriptors();
  std::vector<std::string> variables = own_variables();  // also of those that are hidden now
  hide_secrets();
  ignore_write_signals();
  notice_children();
  keep_threads_small();
  agentd::catch_store_faults();
  (void)agentd::adopt_orphans();  // without it /proc is searched for what commands leave behind
  const agentd::Guard guard(argc, argv);
  const bool out_tty = ::isatty(STDOUT_FILENO) != 0, err_tty = ::isatty(STDERR_FILENO) != 0;
  const bool colour = (out_tty || err_tty) && wants_colour();
  // Writing to a closed output is an error at the end, not a silent success.
  const int out_fd = (closed & 1u << STDOUT_FILENO) != 0 ? -1 : STDOUT_FILENO;
  Output out(out_fd, out_tty, out_tty && colour), err(STDERR_FILENO, err_tty, err_tty && colour);
  Surroundings surroundings{{environment, executable(), "/etc/agentd", std::move(variables)},
                            current_directory(),
                            STDIN_FILENO,
                            ::isatty(STDIN_FILENO) != 0};
  // Unwinding removes the marker of a module being loaded, so that the module is not quarantined.
  try {
    App app(std::move(surroundings), out, err);
    return app.main(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  } catch (const std::bad_alloc&) {
    return no_more("memory");
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    return no_more("threads");
  }
}
