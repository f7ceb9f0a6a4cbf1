// SPDX-License-Identifier: Apache-2.0
// Counts its calls, hands the count to its successor, and writes down what happens to it. REVISION
// 3 does not start, REVISION 4 takes no state, REVISION 5 has a task that does not listen.
#include <fcntl.h>
#include <unistd.h>
#include <agentd/tasks.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string>

#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x
#define VERSION(x) "1.0." TEXT(x)

namespace {

// The text of a key of a flat object.
std::string value_of(std::string_view json, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\":\"";
  const std::size_t at = json.find(quoted);
  if (at == std::string_view::npos) return {};
  const std::size_t from = at + quoted.size();
  return std::string(json.substr(from, json.find('"', from) - from));
}

struct Counter {
#if defined(GUARD)
  static constexpr unsigned hook_flags = AGENTD_HOOK_GATES;
#endif
  static constexpr std::string_view hook_wants[] = {agentd::id::tools, agentd::id::tasks};

  explicit Counter(agentd::init& from)
      : log_(value_of(from.config_json(), "log")),
        gate_(value_of(from.config_json(), "gate")),
        says_(!value_of(from.config_json(), "say").empty()) {
    if (REVISION == 3) {
      from.refuse("not today");
      return;
    }
    from.add_tool<&Counter::wait>({.name = "wait", .description = "Waits for the gate.", .input_schema = "{}"});
    write("created", count_);
    if (REVISION != 5) return;
    (*agentd::tasks(from).start("deaf", [this](agentd::task_view task) {
      while (::access(gate_.c_str(), F_OK) != 0) ::usleep(1000);
      write(task.cancelled() ? "told" : "not told", count_);
    })).detach();
  }
  ~Counter() { write("destroyed", count_); }

  void on_before_tool_call(agentd::call& c) {
    write("call", ++count_);
    if (says_) c.system_message("revision " TEXT(REVISION) " call " + std::to_string(count_));
  }
  void wait(agentd::call& c, agentd::tool_view) {
    write("waiting", count_);
    while (::access(gate_.c_str(), F_OK) != 0) ::usleep(1000);
    (void)c.output(VERSION(REVISION));
  }
  std::string save_state() { return std::to_string(count_); }
  void load_state(std::string_view state, std::string_view) {
    if (REVISION == 4) throw std::runtime_error("an unknown form");
    count_ = std::atoi(std::string(state).c_str());
  }

  void write(const char* what, int number) const {
    if (log_.empty()) return;
    const std::string line = TEXT(REVISION) " " + std::string(what) + " " + std::to_string(number) + "\n";
    const int fd = ::open(log_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (::write(fd, line.data(), line.size()) < 0) std::abort();
    ::close(fd);
  }

  const std::string log_, gate_;
  const bool says_;
  int count_ = 0;
};

}  // namespace

#if defined(OTHER)
AGENTD_HOOK(Counter, "org.agentd.test.other", VERSION(REVISION))
#else
AGENTD_HOOK(Counter, "org.agentd.test.counter", VERSION(REVISION))
#endif
