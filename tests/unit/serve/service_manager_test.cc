// SPDX-License-Identifier: Apache-2.0
// service_manager_test.cc - what the variables of systemd ask for.
#include "core/serve/service_manager.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>

namespace agentd::serve {
namespace {

Milliseconds every(const std::map<std::string, std::string>& variables) {
  const auto environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return ServiceManager(environment).alive_every();
}

TEST(ServiceManager, IsToldAtHalfOfTheWatchdogsTime) {
  const std::string own = std::to_string(::getpid());
  EXPECT_EQ(every({{"NOTIFY_SOCKET", "/run/x"}, {"WATCHDOG_USEC", "30000000"}}), Milliseconds(15'000));
  EXPECT_EQ(every({{"NOTIFY_SOCKET", "/run/x"}, {"WATCHDOG_USEC", "2000000"}, {"WATCHDOG_PID", own}}),
            Milliseconds(1'000));
  EXPECT_EQ(every({{"NOTIFY_SOCKET", "/run/x"}, {"WATCHDOG_USEC", "500"}}), Milliseconds(1));
}

TEST(ServiceManager, IsNotToldWhereNobodyWatchesThisProcess) {
  const std::string another = std::to_string(::getppid());
  EXPECT_EQ(every({}), Milliseconds(0));
  EXPECT_EQ(every({{"WATCHDOG_USEC", "2000000"}}), Milliseconds(0));
  EXPECT_EQ(every({{"NOTIFY_SOCKET", "/run/x"}}), Milliseconds(0));
  EXPECT_EQ(every({{"NOTIFY_SOCKET", "/run/x"}, {"WATCHDOG_USEC", "-5"}}), Milliseconds(0));
  EXPECT_EQ(every({{"NOTIFY_SOCKET", "/run/x"}, {"WATCHDOG_USEC", "2000000"}, {"WATCHDOG_PID", another}}),
            Milliseconds(0));
}

}  // namespace
}  // namespace agentd::serve
