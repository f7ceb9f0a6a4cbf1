// SPDX-License-Identifier: Apache-2.0
#pragma once
// own_tools.h - the tools of agentd's own that clients of MCP get: sessions, memories, checkpoints, conversations and
// runs.
//
// Each is an operation of a service or of the Session API; nothing is done here that these do not do. Results are JSON
// objects: the text of the result and its structured content are one. A tool that works in a conversation of its own
// (`compact`, `run_agent`), or ends the client's (`session_end`), is only begun by the call, and done behind it by who
// has called: no call waits for a place while it holds one.
//
// Threading: as ToolSource.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/runtime/runtime.h"
#include "core/tools/tool.h"

namespace agentd::mcp {

// A client, as the services know it.
struct Caller {
  std::string cwd;      // absolute
  std::string project;  // the id; empty = all projects
  std::string surface;  // the name of its program
  std::string session;  // the name of its session where it names none itself
};

struct OwnCall {
  Runtime& runtime;
  const Caller& caller;
  const SessionContext& session;
  JsonView input;
  const CancelToken& cancel;
  Deadline deadline;
};

struct OwnTool {
  std::string_view name, title, description;
  std::string_view input_schema, output_schema;  // JSON
  std::uint32_t flags = 0;                       // AGENTD_TOOL_
  // The result, a JSON object. Null: done by the caller behind the call.
  Result<std::string> (*run)(const OwnCall& call) = nullptr;
};

inline constexpr std::string_view kSessionEnd = "session_end", kCompact = "compact", kRunAgent = "run_agent";

std::span<const OwnTool> own_tools();
// Null: there is none of that name.
const OwnTool* find_own_tool(std::string_view name);

// An input of the operation `save` of agentd.checkpoint/1 for a session, which may be one of agentd's own: that is
// known by its id.
struct ThresholdCall {
  std::string session, project, surface, name, summary;
  std::uint64_t percent = 0;
};
std::string threshold_input(const Store& store, const ThresholdCall& call);

class OwnTools final : public ToolSource {
 public:
  // Both outlive it.
  OwnTools(Runtime& runtime, const Caller& caller) : runtime_(runtime), caller_(caller) {}
  std::vector<Tool> tools() const override;
  Result<ToolOutcome> call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                           Deadline deadline) override;
  // The input of a call that was only begun, as hooks have left it; empty: there was none.
  std::string take_begun(const std::string& call_id);

 private:
  Runtime& runtime_;
  const Caller& caller_;
  Mutex mutex_;
  std::map<std::string, std::string> begun_ GUARDED_BY(mutex_);  // by the id of the call
};

}  // namespace agentd::mcp
