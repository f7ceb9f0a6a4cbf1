// SPDX-License-Identifier: Apache-2.0
#pragma once
// ext_shared.h - what the tables of agentd.workspace/1 and agentd.process/1 share.
//
// Threading: any thread.

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/workspace.h>

#include <functional>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/bridge/token_table.h"
#include "core/process/process_host.h"
#include "core/process/workspace.h"
#include "core/scrub/secrets.h"

namespace agentd {

// Returns the files of the open session with that handle, or null when it has none of its own. Called on any thread.
using FilesOfSession = std::function<std::shared_ptr<Workspace>(agentd_conv conversation)>;

// The commands of an open session.
struct SessionCommands {
  std::shared_ptr<ProcessHost> host;  // null: it has none of its own
  std::string spill_directory;        // of its conversation; empty = nothing is spilled
};
// Called on any thread.
using CommandsOfSession = std::function<SessionCommands(agentd_conv conversation)>;

// The parts that the tables of one host share.
struct ExtShared {
  TokenTable& tokens;
  Workspace* workspace;  // null = none
  const Clock& clock;
  const FilesOfSession files;
  const Secrets* const secrets;  // null = nothing is looked for
  const CommandsOfSession commands;
  Mutex mutex;
  std::shared_ptr<ProcessHost> own_commands GUARDED_BY(mutex);

  // With a host in any case.
  SessionCommands commands_of(agentd_conv conversation);
};
// `table` is the first member, so that the plugin's pointer leads to the rest.
struct ExtWorkspaceTable {
  agentd_workspace table;
  ExtShared* shared;
};
struct ExtProcessTable {
  agentd_process table;
  ExtShared* shared;
};

}  // namespace agentd
