// SPDX-License-Identifier: Apache-2.0
#include "core/native/ext_shared.h"

#include "core/process/commands.h"

namespace agentd {

// A command outside of sessions ends with the tables.
SessionCommands ExtShared::commands_of(agentd_conv conversation) {
  SessionCommands out = commands ? commands(conversation) : SessionCommands();
  if (out.host) return out;
  const MutexLock lock(mutex);
  if (!own_commands) own_commands = std::make_shared<CommandTable>(std::make_shared<CommandReader>(clock));
  out.host = own_commands;
  return out;
}

}  // namespace agentd
