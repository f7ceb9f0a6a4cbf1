// SPDX-License-Identifier: Apache-2.0
#pragma once
// client_commands.h - the commands of a session that a client on this machine has opened: they start with the client's
// variables, not the daemon's.
//
// Threading: as ProcessHost.

#include <memory>
#include <string>
#include <vector>

#include "core/process/command_reader.h"
#include "core/process/process_host.h"

namespace agentd::serve {

// `environment`: clean_environment() of the client's process, for every command that brings none of its own.
std::shared_ptr<ProcessHost> commands_of_client(std::vector<std::string> environment,
                                                std::shared_ptr<CommandReader> reader);

}  // namespace agentd::serve
