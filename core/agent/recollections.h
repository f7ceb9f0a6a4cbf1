// SPDX-License-Identifier: Apache-2.0
#pragma once
// recollections.h - lessons of earlier sessions for a task, as an interface: whoever keeps memories implements it.
//
// Threading: prime() may be called from any thread, several at a time.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/cancel.h"
#include "core/base/clock.h"
#include "core/base/result.h"

namespace agentd {

struct Recollection {
  std::string id, title, text;
  std::string source{};                   // where it comes from, for people: "conversation 01JZ... of 2025-11-02"
  std::uint32_t confidence_permille = 0;  // 0 to 1000
  std::int64_t created_ms = 0;
};

struct PrimeRequest {
  std::string project_id, conversation_id;
  std::string task;  // the user's first text; never empty
  std::uint32_t limit = 3;
};

class Recollections {
 public:
  virtual ~Recollections() = default;
  // At most `limit`, the best first; nothing that its owner scores too low for that task. Called by a session before it
  // dispatches an event, never inside of a dispatch. An error, also after `deadline`, counts as none.
  virtual Result<std::vector<Recollection>> prime(const PrimeRequest& request, const CancelToken& cancel,
                                                  Deadline deadline) = 0;
};

// The text that gives them to the model: quoted, with where they come from, and that they are no instructions. Empty
// for none.
std::string quote_recollections(const std::vector<Recollection>& recollections);

}  // namespace agentd
