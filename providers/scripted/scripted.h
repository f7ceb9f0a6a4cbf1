// SPDX-License-Identifier: Apache-2.0
#pragma once
// scripted.h - a ModelProvider that replays a file of model turns: for demos, tests and benches.
//
// Each request takes the next turn of its purpose (turn, summary, thread). The provider can record every request that
// it receives, and a turn can say what its request must or must not contain. Format: docs/reference/script.md.
//
// Threading: the provider is thread-safe; requests of one purpose take turns in the order of arrival.

#include <memory>
#include <string>

#include "core/model/provider.h"
#include "providers/common/retry.h"

namespace agentd {

struct ScriptedOptions {
  std::string script_path;
  // Remembers the played turns, so that the next process continues there; empty = each process starts at the beginning.
  std::string state_path;
  // Appends every request as one JSON line; empty = no recording.
  std::string record_path;
  // The first turn of the purpose "turn" without a state file: 0 is the first.
  std::uint64_t start_turn = 0;
};

// Reads the script. kInvalid "file:line:column: what" when it is broken; kNotFound when it is missing. `clock` must
// outlive the provider.
Result<std::unique_ptr<ModelProvider>> make_scripted_provider(ScriptedOptions options, const Clock& clock);

}  // namespace agentd
