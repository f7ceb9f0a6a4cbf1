// SPDX-License-Identifier: Apache-2.0
// Counts messages in its key space, and writes down the count and how many conversations it sees.
#include <fcntl.h>
#include <unistd.h>
#include <agentd/hook.hpp>

#include <cstdlib>
#include <string>

namespace {

struct Keeper {
  static constexpr std::string_view hook_requires[] = {agentd::id::store};

  explicit Keeper(agentd::init& from) : log_(from.config_json()) {
    // {"log":"PATH"}
    log_ = log_.substr(log_.find(":\"") + 2);
    log_.resize(log_.find('"'));
  }

  void on_user_message_send(agentd::call& c) {
    const auto store = c.store();
    const auto known = store.get("count");
    const std::string count = std::to_string(known ? std::atoi(std::string(known->value()).c_str()) + 1 : 1);
    const auto kept = store.put("count", count);
    const auto all = store.conversations({.limit = 100});
    const std::string line = std::string(kept ? count : "none") + " " + std::to_string(all ? all->size() : 0) + "\n";
    const int fd = ::open(log_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (::write(fd, line.data(), line.size()) < 0) std::abort();
    ::close(fd);
  }

  std::string log_;
};

}  // namespace

AGENTD_HOOK(Keeper, "org.agentd.test.keeper", "1.0.0")
