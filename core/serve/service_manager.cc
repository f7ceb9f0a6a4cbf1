// SPDX-License-Identifier: Apache-2.0
#include "core/serve/service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>

namespace agentd::serve {
namespace {

constexpr int kFirstPassed = 3, kPassedMax = 16;

long variable_number(const std::optional<std::string>& text) {
  long out = 0;
  if (text) (void)std::from_chars(text->data(), text->data() + text->size(), out);
  return out;
}

}  // namespace

std::vector<UniqueFd> take_sockets(const Environment& environment) {
  std::vector<UniqueFd> out;
  if (variable_number(environment("LISTEN_PID")) != ::getpid()) return out;
  const long count = variable_number(environment("LISTEN_FDS"));
  for (int i = 0; i < count && i < kPassedMax; ++i) {
    ::fcntl(kFirstPassed + i, F_SETFD, FD_CLOEXEC);
    out.emplace_back(kFirstPassed + i);
  }
  return out;
}

ServiceManager::ServiceManager(const Environment& environment) : socket_(environment("NOTIFY_SOCKET").value_or("")) {
  const auto of = environment("WATCHDOG_PID");
  const long time_us = variable_number(environment("WATCHDOG_USEC"));
  if (socket_.empty() || time_us <= 0 || (of && variable_number(of) != ::getpid())) return;
  alive_every_ = Milliseconds(std::max(1L, time_us / 2'000));
}

void ServiceManager::send(std::string_view text) const {
  sockaddr_un to{};
  if (socket_.empty() || socket_.size() >= sizeof to.sun_path || (socket_[0] != '/' && socket_[0] != '@')) return;
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, socket_.data(), socket_.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  (void)::sendto(fd.get(), text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), length);
}

void ServiceManager::ready(std::string_view status) const { send("READY=1\nSTATUS=" + std::string(status)); }
void ServiceManager::stopping() const { send("STOPPING=1"); }
void ServiceManager::alive() const { send("WATCHDOG=1"); }

}  // namespace agentd::serve
