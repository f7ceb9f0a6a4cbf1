// SPDX-License-Identifier: Apache-2.0
#pragma once
// ext_tables.h - agentd.workspace/1 and agentd.process/1 as C tables over core/process.
//
// A call sees the files of its session: token, then conversation, then session.
//
// Results are in the memory of the calling token. An error's text becomes the text of the call, so that a hook which
// returns the status also reports the reason.
//
// Threading: the tables may be called from any thread.

#include "core/native/ext_shared.h"

namespace agentd {

class ExtTables {
 public:
  // The arguments must outlive the tables. `workspace` serves calls outside of sessions, and sessions without files of
  // their own. `secrets`: what has placeholders in a file's view; null = nothing. Commands outside of sessions, and of
  // sessions for which `commands` has no host, are the tables' own and end with them.
  ExtTables(TokenTable& tokens, Workspace& workspace, const Clock& clock, FilesOfSession files = {},
            const Secrets* secrets = nullptr, CommandsOfSession commands = {});
  // Without a workspace: a call for which `files` has none is refused (UNAVAILABLE).
  ExtTables(TokenTable& tokens, const Clock& clock, FilesOfSession files, const Secrets* secrets = nullptr,
            CommandsOfSession commands = {});
  ExtTables(const ExtTables&) = delete;
  ExtTables& operator=(const ExtTables&) = delete;

  const agentd_workspace* workspace() const { return &workspace_.table; }
  const agentd_process* process() const { return &process_.table; }

 private:
  ExtShared shared_;
  ExtWorkspaceTable workspace_;
  ExtProcessTable process_;
};

}  // namespace agentd
