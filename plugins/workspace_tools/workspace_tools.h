// SPDX-License-Identifier: Apache-2.0
#pragma once
// workspace_tools.h - bash, read_file, write_file, edit_file, glob, grep.
//
// The plugin has the schemas, the checks and the formatting; every effect goes through
// agentd.workspace/1 and agentd.process/1, where the host keeps its limits. What goes wrong in a
// tool is told to the model as a result that is an error; the call itself fails only when it was
// cancelled.
//
// Threading: concurrent, as the plugin record says.

#include <agentd/drafts.hpp>

#include <string>
#include <string_view>

#include "plugins/workspace_tools/input.h"
#include "plugins/workspace_tools/memory.h"

namespace workspace_tools {

class WorkspaceTools {
 public:
  static constexpr std::string_view hook_requires[] = {agentd::id::tools};
  static constexpr std::string_view hook_wants[] = {agentd::id::workspace, agentd::id::process};
  static constexpr std::string_view hook_drafts[] = {agentd::id::workspace, agentd::id::process};
  static constexpr unsigned concurrency = AGENTD_CONCURRENT;

  explicit WorkspaceTools(agentd::init& from);

  void on_user_message_send(agentd::call& c);
  void on_after_compaction(agentd::call& c);
  void on_after_clear(agentd::call& c);
  void on_session_end(agentd::call& c);

  agentd_status bash(agentd::call& c, agentd::tool_view tool);
  agentd_status read_file(agentd::call& c, agentd::tool_view tool);
  agentd_status write_file(agentd::call& c, agentd::tool_view tool);
  agentd_status edit_file(agentd::call& c, agentd::tool_view tool);
  agentd_status glob(agentd::call& c, agentd::tool_view tool);
  agentd_status grep(agentd::call& c, agentd::tool_view tool);

 private:
  void add_file_tools(agentd::init& from);
  void add_search_tools(agentd::init& from);
  std::string cwd_of(const agentd::call& c) const;

  agentd::workspace files_;
  agentd::process commands_;
  Memory memory_;
};

// The tool did its work: `text` is the result, valid UTF-8 already or made so.
agentd_status answer(agentd::call& c, std::string_view text, std::string_view structured_json = {});
// The tool could not do it; `text` is for the model.
agentd_status refuse(agentd::call& c, std::string_view text);
// The same for a status of the workspace: cancelled and deadline end the call, others become a
// sentence.
agentd_status refuse(agentd::call& c, agentd_status status, std::string_view path);
// The same for a status of a write.
agentd_status refuse_change(agentd::call& c, agentd_status status, std::string_view path);

}  // namespace workspace_tools
