// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_use.h - the usage of one hook in one run: its calls and their cost.
//
// Threading: values and pure functions.

#include <cstdint>
#include <string>

#include "core/codec/json.h"

namespace agentd {

struct HookUse {
  std::string hook, plugin;         // its name, the id of its plugin
  std::uint64_t calls = 0;          // calls that were made
  std::uint64_t failures = 0;       // calls that failed
  std::uint64_t refused = 0;        // calls that were not made, because the hook was over a limit
  std::uint64_t duration_ns = 0;    // the sum over all calls, including concurrent ones
  std::uint64_t tokens = 0;         // of the models that it called, prompts and answers
  std::uint64_t cost_nano_usd = 0;  // of the same; 0 also when it is unknown
  std::uint64_t threads = 0;        // factory threads that it opened
  std::uint64_t children = 0;       // processes that outlived a call and were ended

  friend bool operator==(const HookUse&, const HookUse&) = default;
};

// Writes one object; figures that are 0 are left out, except calls and duration_ns.
void write_hook_use(JsonWriter& out, const HookUse& use);
HookUse read_hook_use(JsonView from);

// "14 calls, 0.021 s, 4,310 tokens".
std::string describe(const HookUse& use);

}  // namespace agentd
