// SPDX-License-Identifier: Apache-2.0
#pragma once
// permission_call.h - a tool call, with what rules are compared with: its commands, the files that they write by
// redirections, its paths, its host. Private to this room.
//
// Threading: one thread.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tools/permission_rule.h"
#include "core/tools/tool.h"

namespace agentd {

struct CallPath {
  std::string spelt, real;  // absolute; real: without links, empty = a link on the way leads to nothing
  bool named = true;        // false: the input does not name it, so that it is where the call starts
};

// The target of a redirection that writes.
struct WrittenFile {
  const ShellWord* target = nullptr;
  CallPath path;         // as the text says it
  bool certain = false;  // false: it depends on a value or on the directory, or it is a device
};

// Made as far as a rule needs it. The arguments outlive it.
class PermissionCall {
 public:
  PermissionCall(const Tool& tool, const ToolInput& input, const PathPlace& place)
      : tool_(tool), input_(input), place_(place) {}

  const Tool& tool() const { return tool_; }
  const PathPlace& place() const { return place_; }
  bool is_command() const { return tool_.name == kCommandTool; }

  const ShellReading& reading();
  // A command changes its directory, so what is named relatively is who knows where.
  bool moves();
  // Without /dev/null and the like.
  const std::vector<WrittenFile>& writes();
  const std::vector<CallPath>& paths();
  // Empty: there is none.
  std::string host() const;
  // The path is one of these places, or below one.
  bool is_in(const CallPath& path, std::span<const std::string> places) const;

 private:
  const Tool& tool_;
  const ToolInput& input_;
  const PathPlace& place_;
  std::optional<ShellReading> reading_;
  std::optional<std::vector<WrittenFile>> writes_;
  std::optional<std::vector<CallPath>> paths_;
};

}  // namespace agentd
