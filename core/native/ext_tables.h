// SPDX-License-Identifier: Apache-2.0
#pragma once
// ext_tables.h - agentd.workspace/1 and agentd.process/1 as C tables over core/process.
//
// Results are in the memory of the calling token. An error's text becomes the text of the call, so that a hook which
// returns the status also reports the reason.
//
// Threading: the tables may be called from any thread.

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/workspace.h>

#include "core/base/clock.h"
#include "core/bridge/token_table.h"
#include "core/process/workspace.h"

namespace agentd {

class ExtTables {
 public:
  // The arguments must outlive the tables.
  ExtTables(TokenTable& tokens, Workspace& workspace, const Clock& clock);
  ExtTables(const ExtTables&) = delete;
  ExtTables& operator=(const ExtTables&) = delete;

  const agentd_workspace* workspace() const { return &workspace_.table; }
  const agentd_process* process() const { return &process_.table; }

  struct Shared {
    TokenTable& tokens;
    Workspace& workspace;
    const Clock& clock;
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
