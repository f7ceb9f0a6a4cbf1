// SPDX-License-Identifier: Apache-2.0
#pragma once
// scripted.h - a ModelProvider that replays a file of model turns: for demos, tests and benches.
//
// Each request takes the next turn of its purpose (turn, summary, thread). The provider can write down
// every request that it receives, and a turn can say what its request must or must not hold. Format:
// docs/reference/script.md.
//
// Threading: the provider is thread-safe; requests of one purpose take turns in the order of arrival.

#include <memory>
#include <string>

#include "core/model/provider.h"
#include "providers/common/retry.h"

namespace agentd {

struct ScriptedOptions {
  std::string script_path;
  // Remembers which turns were played, so that the next process goes on there; empty = begins anew.
  std::string state_path;
  // Every request is appended as one JSON line; empty = nothing is written.
  std::string record_path;
  // Of the purpose "turn", when there is no state file yet: 0 is the first.
  std::uint64_t start_turn = 0;
};

// Reads the script. kInvalid "file:line:column: what" when it is broken; kNotFound when there is none.
// `clock` must outlive the provider; `sleeper` waits for delay_ms, the clock's own unless given.
Result<std::unique_ptr<ModelProvider>> make_scripted_provider(ScriptedOptions options, const Clock& clock,
                                                              std::unique_ptr<Sleeper> sleeper = nullptr);

}  // namespace agentd
