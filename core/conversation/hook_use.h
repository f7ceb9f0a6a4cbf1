// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_use.h - the account of one hook over one run: how often it was asked, and what that took.
//
// Threading: values and pure functions.

#include <cstdint>
#include <string>
#include <vector>

#include "core/codec/json.h"

namespace agentd {

struct HookUse {
  std::string hook, plugin;         // its name, the id of its plugin
  std::uint64_t calls = 0;          // in which it was asked
  std::uint64_t failures = 0;       // those of them that failed
  std::uint64_t refused = 0;        // calls that were not made, since it was over a limit
  std::uint64_t duration_ns = 0;    // of all calls together, also of those at the same time
  std::uint64_t tokens = 0;         // of the models that it asked, prompts and answers
  std::uint64_t cost_nano_usd = 0;  // of the same; 0 also when it is not known
  std::uint64_t threads = 0;        // of the factory, that it opened
  std::uint64_t children = 0;       // processes that outlived a call of it, and were ended

  friend bool operator==(const HookUse&, const HookUse&) = default;
};

// One object; figures that are 0 are left out, but for calls and duration_ns.
void write_hook_use(JsonWriter& out, const HookUse& use);
HookUse read_hook_use(JsonView from);

// "14 calls, 0.021 s, 4,310 tokens".
std::string describe(const HookUse& use);

}  // namespace agentd
