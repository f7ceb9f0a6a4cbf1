// SPDX-License-Identifier: Apache-2.0
#include "core/serve/token_streams.h"

namespace agentd::serve {

void TokenStreams::add(const Digest& token, const std::shared_ptr<HttpStream>& stream) {
  const MutexLock lock(mutex_);
  std::erase_if(streams_, [](const auto& each) { return each.second.expired(); });
  streams_.emplace_back(token, stream);
}

void TokenStreams::end_unless(const std::function<bool(const Digest& token)>& is_good) {
  const MutexLock lock(mutex_);
  std::erase_if(streams_, [&](const auto& each) {
    const std::shared_ptr<HttpStream> stream = each.second.lock();
    if (!stream) return true;
    if (is_good(each.first)) return false;
    stream->close();
    return true;
  });
}

}  // namespace agentd::serve
