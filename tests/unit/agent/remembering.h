// SPDX-License-Identifier: Apache-2.0
#pragma once
// remembering.h - memories that a test has written down, instead of a plugin's.

#include <string>
#include <vector>

#include "core/agent/recollections.h"

namespace agentd::testing {

class Remembering final : public Recollections {
 public:
  Result<std::vector<Recollection>> prime(const PrimeRequest& request, const CancelToken&, Deadline) override {
    asked.push_back(request.task);
    if (fails) return Error{Code::kUnavailable, "no index"};
    return known;
  }
  std::vector<Recollection> known;
  std::vector<std::string> asked;
  bool fails = false;
};

}  // namespace agentd::testing
