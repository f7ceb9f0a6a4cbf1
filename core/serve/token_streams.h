// SPDX-License-Identifier: Apache-2.0
#pragma once
// token_streams.h - the open streams by the tokens that have opened them, so that they end with these.
//
// Threading: thread-safe.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "core/base/mutex.h"
#include "core/serve/http_exchange.h"

namespace agentd::serve {

class TokenStreams {
 public:
  // `token`: its digest (Tokens::Found).
  void add(const Digest& token, const std::shared_ptr<HttpStream>& stream);
  // Ends those whose token is not good any more.
  void end_unless(const std::function<bool(const Digest& token)>& is_good);

 private:
  Mutex mutex_;
  std::vector<std::pair<Digest, std::weak_ptr<HttpStream>>> streams_ GUARDED_BY(mutex_);  // some may be gone
};

}  // namespace agentd::serve
