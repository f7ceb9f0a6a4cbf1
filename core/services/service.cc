// SPDX-License-Identifier: Apache-2.0
#include "core/services/service.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= AGENTD_SERVICE_NAME_MAX && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '.' || c == '-' || c == '_';
  });
}

}  // namespace

bool ServiceGate::enter() {
  const MutexLock lock(mutex_);
  if (closed_) return false;
  ++inside_;
  return true;
}

void ServiceGate::leave() {
  const MutexLock lock(mutex_);
  --inside_;
  // Under the lock: the gate may be destroyed as soon as no call is inside.
  left_.notify_all();
}

bool ServiceGate::close(const Clock& clock, Milliseconds grace) {
  const Deadline end = Deadline::after(clock, grace);
  const MutexLock lock(mutex_);
  closed_ = true;
  while (inside_ != 0 && left_.wait_until(mutex_, clock, end)) continue;
  return inside_ == 0;
}

std::string service_name_problem(std::string_view interface_id, std::string_view operation) {
  const std::size_t slash = interface_id.rfind('/');
  const std::string_view version =
      slash == std::string_view::npos ? std::string_view() : interface_id.substr(slash + 1);
  const bool has_version = !version.empty() && std::all_of(version.begin(), version.end(), is_digit);
  if (interface_id.size() > AGENTD_SERVICE_NAME_MAX || !has_version || !is_name(interface_id.substr(0, slash)))
    return "the interface id '" + one_line(interface_id, 80) +
           "' is not like agentd.memory/1: use at most 64 letters, digits, '.', '-' and '_', then '/' and a version";
  if (!is_name(operation))
    return "the operation '" + one_line(operation, 80) + "' of " + std::string(interface_id) +
           " is not a name: use at most 64 letters, digits, '.', '-' and '_'";
  return {};
}

}  // namespace agentd
