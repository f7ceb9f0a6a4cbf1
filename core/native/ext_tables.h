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

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/workspace.h>

#include <functional>
#include <memory>

#include "core/base/clock.h"
#include "core/bridge/token_table.h"
#include "core/process/workspace.h"
#include "core/scrub/secrets.h"

namespace agentd {

// Returns the files of the open session with that handle, or null when it has none of its own. Called on any thread.
using FilesOfSession = std::function<std::shared_ptr<Workspace>(agentd_conv conversation)>;

class ExtTables {
 public:
  // The arguments must outlive the tables. `workspace` serves calls outside of sessions, and sessions without files of
  // their own. `secrets`: what has placeholders in a file's view; null = nothing.
  ExtTables(TokenTable& tokens, Workspace& workspace, const Clock& clock, FilesOfSession files = {},
            const Secrets* secrets = nullptr);
  // Without a workspace: a call for which `files` has none is refused (UNAVAILABLE).
  ExtTables(TokenTable& tokens, const Clock& clock, FilesOfSession files, const Secrets* secrets = nullptr);
  ExtTables(const ExtTables&) = delete;
  ExtTables& operator=(const ExtTables&) = delete;

  const agentd_workspace* workspace() const { return &workspace_.table; }
  const agentd_process* process() const { return &process_.table; }

  struct Shared {
    TokenTable& tokens;
    Workspace* workspace;  // null = none
    const Clock& clock;
    const FilesOfSession files;
    const Secrets* const secrets;  // null = nothing is looked for
  };
  // `table` is the first member, so that the plugin's pointer leads to the rest.
  struct WorkspaceTable {
    agentd_workspace table;
    Shared* shared;
  };
  struct ProcessTable {
    agentd_process table;
    Shared* shared;
  };

 private:
  Shared shared_;
  WorkspaceTable workspace_;
  ProcessTable process_;
};

}  // namespace agentd
