// SPDX-License-Identifier: Apache-2.0
#pragma once
// workspace_tools.h - bash, bash_output, kill_shell, read_file, write_file, edit_file, glob, grep, todo_write.
//
// The plugin has the schemas, the checks and the formatting; every effect goes through agentd.workspace/1 and
// agentd.process/1, where the host enforces its limits. A failure of a tool is reported to the model as an error
// result; the call itself fails only if it was cancelled.
//
// Threading: concurrent, as the plugin record says.

#include <agentd/drafts.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "plugins/workspace_tools/input.h"
#include "plugins/workspace_tools/media.h"
#include "plugins/workspace_tools/memory.h"

namespace workspace_tools {

class WorkspaceTools {
 public:
  static constexpr std::string_view hook_requires[] = {agentd::id::tools};
  static constexpr std::string_view hook_wants[] = {agentd::id::workspace, agentd::id::process};
  static constexpr std::string_view hook_drafts[] = {agentd::id::workspace, agentd::id::process};
  static constexpr unsigned concurrency = AGENTD_CONCURRENT;

  explicit WorkspaceTools(agentd::init& from);

  void on_turn_start(agentd::call& c);
  void on_after_compaction(agentd::call& c, agentd::after_compaction_view ended);
  void on_after_clear(agentd::call& c);
  void on_session_end(agentd::call& c);

  agentd_status bash(agentd::call& c, agentd::tool_view tool);
  agentd_status bash_output(agentd::call& c, agentd::tool_view tool);
  agentd_status kill_shell(agentd::call& c, agentd::tool_view tool);
  agentd_status read_file(agentd::call& c, agentd::tool_view tool);
  agentd_status write_file(agentd::call& c, agentd::tool_view tool);
  agentd_status edit_file(agentd::call& c, agentd::tool_view tool);
  agentd_status glob(agentd::call& c, agentd::tool_view tool);
  agentd_status grep(agentd::call& c, agentd::tool_view tool);
  agentd_status todo_write(agentd::call& c, agentd::tool_view tool);

 private:
  agentd_status read_media(agentd::call& c, const std::string& path, FileKind kind, std::uint64_t bytes);
  agentd_status show_text(agentd::call& c, const std::string& path, const Input& input, std::string_view text);
  agentd_status replace_seen(agentd::call& c, const std::string& path, std::string_view content);
  std::vector<Todo> todos_now(agentd::call& c);
  void add_command_tools(agentd::init& from);
  void add_file_tools(agentd::init& from);
  void add_search_tools(agentd::init& from);
  std::string cwd_of(const agentd::call& c) const;
  agentd_status start_background(agentd::call& c, std::string_view command, const agentd::process_options& options);
  agentd_status refuse_command(agentd::call& c, agentd_status status, const agentd::process_options& options);
  // The tool failed with that status of the workspace. kChange: it was to write `bytes`.
  enum class Access { kRead, kChange };
  agentd_status refuse_access(agentd::call& c, agentd_status status, std::string_view path,
                              Access access = Access::kRead, std::uint64_t bytes = 0) const;

  agentd::workspace files_;
  agentd::process commands_;
  Memory memory_;
};

// The tool succeeded: `text` is the result, which is made valid UTF-8 if necessary.
agentd_status answer(agentd::call& c, std::string_view text, std::string_view structured_json = {});
// The tool failed; `text` is for the model.
agentd_status refuse(agentd::call& c, std::string_view text);
// The same for a status of the workspace: cancel and deadline end the call, others become a message.
agentd_status refuse(agentd::call& c, agentd_status status, std::string_view path);
// The same for the status of a write.
agentd_status refuse_change(agentd::call& c, agentd_status status, std::string_view path);
// The same when the directory in which every call starts was removed.
agentd_status refuse_without_workspace(agentd::call& c, std::string_view cwd);

}  // namespace workspace_tools
