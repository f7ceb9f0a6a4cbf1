// SPDX-License-Identifier: Apache-2.0
#include "core/cage/connection_share.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace agentd::cage {
namespace {

constexpr rlim_t kPart = 8;

std::atomic<std::size_t> open_now{0};

}  // namespace

std::size_t connections_max() {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return kConnectionsLeast;
  const rlim_t share = std::min<rlim_t>(descriptors.rlim_cur / kPart, kConnectionsMost);
  return std::max(static_cast<std::size_t>(share), kConnectionsLeast);
}

bool take_connection(bool first) {
  if (open_now.fetch_add(1) < connections_max() || first) return true;
  open_now.fetch_sub(1);
  return false;
}

void give_connection() { open_now.fetch_sub(1); }

bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace agentd::cage
