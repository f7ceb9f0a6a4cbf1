// SPDX-License-Identifier: Apache-2.0
// main.cc - agentd-cage: starts one command in agentd's sandbox. The first word is the number of the descriptor that
// holds its orders.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/base/file.h"
#include "core/cage/keeper.h"

namespace {

constexpr std::uint64_t kOrdersMax = 16u << 20;

int refuse(const std::string& text) {
  (void)agentd::write_all(STDERR_FILENO, text + "\n");
  return agentd::cage::kNoCage;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace agentd;
  if (argc < 3)
    return refuse("agentd-cage runs a command for agentd, which starts it automatically; use 'agentd sandbox run'");
  const UniqueFd file(std::atoi(argv[1]));
  ::lseek(file.get(), 0, SEEK_SET);
  const auto text = read_fd(file.get(), kOrdersMax, "the orders of the sandbox");
  const auto orders = text ? cage::parse_orders(*text) : Result<cage::Orders>(text.error());
  if (!orders) return refuse("agentd-cage: " + orders.error().message);
  for (const int each : {file.get(), orders->owner, orders->lock})  // the command gets none of them
    if (each >= 0) ::fcntl(each, F_SETFD, FD_CLOEXEC);
  return cage::keep(*orders, argv + 2);
}
