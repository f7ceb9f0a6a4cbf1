// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool.h - the tools that a model may call, their source, and the question about a call.
//
// Threading: a ToolSource is called on any thread, for one session by several at once; an Approver on the run's.

#include <agentd/ext/tools.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/conversation/message.h"
#include "core/conversation/tool_input.h"

namespace agentd {

struct Tool {
  std::string name, title, description, input_schema_json, origin;
  std::uint32_t flags = 0;             // AGENTD_TOOL_
  std::vector<std::string> path_keys;  // members of the input that are paths
  Milliseconds timeout{600'000};
  std::string serial_plugin{};  // the id of a plugin that takes one call at a time; empty = calls may overlap
  // It changes a file by its view, so that placeholders in its input keep what they stand for (agentd.workspace/1
  // edit).
  bool takes_placeholders = false;

  bool read_only() const { return (flags & AGENTD_TOOL_READ_ONLY) != 0; }
};

struct ToolCall {
  std::string call_id, name;
  ToolInput input;
};

struct ToolOutcome {
  bool success = true;
  std::string content;  // what the model reads; valid UTF-8
  std::string structured_json;
  std::vector<Block> parts;      // images, documents
  std::uint64_t full_bytes = 0;  // the tool's output; more than content when that was cut
};

// Files that a call of a tool is not shown (agentd.workspace/1). Paths are absolute.
//
// Threading: thread-safe.
class Withheld {
 public:
  virtual ~Withheld() = default;
  virtual bool entry(const std::string& path) const = 0;  // of a listed directory, and no link itself
  virtual bool path(const std::string& path) const = 0;
};

// The session that a tool works for and a question belongs to. Valid during the call.
struct SessionContext {
  std::uint64_t handle = 0;  // the handle of the conversation that plugins see
  std::string_view conversation_id;
  std::string_view cwd;
  std::span<const std::string>
      roots{};  // roots of its files; relative paths begin at the first one, or at cwd when there is none
  const Withheld* withheld = nullptr;  // from this call; null = nothing

  std::string_view start() const { return roots.empty() ? cwd : std::string_view(roots.front()); }
};

class ToolSource {
 public:
  virtual ~ToolSource() = default;
  // The current tools, names unique.
  virtual std::vector<Tool> tools() const = 0;
  // Runs one tool for a session and waits. A failing tool is an outcome with success = false. An Error means that it
  // could not run: kNotFound (no such tool), kCancelled, kUnavailable (deadline), kDenied.
  virtual Result<ToolOutcome> call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                                   Deadline deadline) = 0;
};

struct PermissionAnswer {
  bool allowed = false;
  bool remember = false;  // AskedBy::keeps in this project; without one, the tool for the rest of the session
  std::string reason;     // for the model, when the call was denied
  bool given = true;      // false: nobody has answered, so it is denied
};

// The hook that demands the question, and why; an empty name = the rules demand it.
struct AskedBy {
  std::string hook, reason;
  bool each_time = false;            // no answer holds for a later call
  std::vector<std::string> keeps{};  // the rules that "always" adds to the project's; empty = the tool in this session
  std::vector<std::string> missing{};  // PermissionVerdict::missing
};

// Asks the user. A run without one denies, or waits (ClientSettings::waits).
class Approver {
 public:
  virtual ~Approver() = default;
  // False: nobody is there to answer, and ask() says no at once.
  virtual bool is_present() const { return true; }
  virtual PermissionAnswer ask(const SessionContext& session, const Tool& tool, const ToolCall& call,
                               const AskedBy& by) = 0;
};

}  // namespace agentd
