// SPDX-License-Identifier: Apache-2.0
#pragma once
// elicitor.h - the person, asked by a tool's server for values while a call runs.
//
// Threading: an Elicitor is called on the thread of the call.

#include <cstdint>
#include <string>

#include "core/base/cancel.h"
#include "core/base/clock.h"

namespace agentd {

struct Elicitation {
  std::string server, message;  // of whom the question is, and its text; neither is to be believed
  std::string schema_json{};    // a flat object of strings, numbers, booleans and choices; empty = an address
  std::string url{};            // to be opened by the person
  std::string tool{};           // whose call it belongs to, by the server's own name
};

struct ElicitationAnswer {
  enum class Kind : std::uint8_t { kAccepted, kDeclined, kCancelled };
  Kind kind = Kind::kCancelled;
  std::string values_json{};  // of an accepted one: an object that the schema holds for
};

class Elicitor {
 public:
  virtual ~Elicitor() = default;
  // Waits for the person. kCancelled: `cancel` was set, the time is over, or nobody is there.
  virtual ElicitationAnswer elicit(const Elicitation& question, const CancelToken& cancel, Deadline deadline) = 0;
};

}  // namespace agentd
