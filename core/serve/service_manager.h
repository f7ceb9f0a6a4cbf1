// SPDX-License-Identifier: Apache-2.0
#pragma once
// service_manager.h - the protocol of systemd's service manager: notifications (sd_notify(3)) and sockets that it has
// opened (sd_listen_fds(3)). Without the variables of the protocol all of it does nothing.
//
// Threading: functions of the environment; take_sockets() once, before other threads.

#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/config/config.h"

namespace agentd::serve {

// The sockets that were passed; none if they are for another process.
std::vector<UniqueFd> take_sockets(const Environment& environment);

class ServiceManager {
 public:
  // From NOTIFY_SOCKET, and WATCHDOG_USEC unless WATCHDOG_PID is another process.
  explicit ServiceManager(const Environment& environment);

  void ready(std::string_view status) const;
  // From then on the manager waits for the end and for no watchdog (sd_notify(3)).
  void stopping() const;
  // How often alive() must be told: at half of the watchdog's time; 0: there is no watchdog.
  Milliseconds alive_every() const { return alive_every_; }
  void alive() const;

 private:
  void send(std::string_view text) const;
  std::string socket_;
  Milliseconds alive_every_{0};
};

}  // namespace agentd::serve
