// SPDX-License-Identifier: Apache-2.0
#pragma once
// tools.h - the tools that the model gets: their texts, and what each does.
//
// Threading: as Engine.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "plugins/session_memory/engine.h"

namespace session_memory {

struct ToolText {
  std::string_view name, title, description, input_schema;
  bool reads_only = false, is_idempotent = false;
};
std::span<const ToolText> tool_texts();

// The session that calls a tool. Empty members are unknown.
struct CallingSession {
  std::string conversation, project, provider, model;
  std::uint64_t revision = 0;
};

struct ToolMeans {
  KeySpace& keys;
  LogSource& logs;
  CallingSession session;
  // An operation of "agentd.checkpoint/1": JSON in, JSON out. kUnavailable: this agentd offers none.
  std::function<agentd::Result<std::string>(std::string_view operation, const std::string& input_json)> checkpoint;
  // Tells the host what session_end says, so that all hooks of the session's end hear it; empty = it is not told.
  std::function<void(const std::string& input_json)> note{};
};

// The text for the model. An error is one sentence for the model.
agentd::Result<std::string> call_tool(Engine& engine, const ToolMeans& means, std::string_view name,
                                      std::string_view input_json);

}  // namespace session_memory
