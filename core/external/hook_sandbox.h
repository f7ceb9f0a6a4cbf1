// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_sandbox.h - the sandbox of a hook's program: that of the session's commands, and what the hook may read besides.
//
// Threading: thread-safe.

#include <memory>
#include <string>
#include <vector>

#include "core/dialects/definition.h"
#include "core/external/external_environment.h"

namespace agentd {

// The files and directories that a hook can read in its sandbox in addition to those of commands: its own directory,
// its working directory, the program that it names by an absolute path, and private copies of its bytes. Nothing of
// these for a project's hook but the copies: its own files are in the workspace, and it may not open other ones by
// naming them. `user_home`: what ~ means; empty = unknown.
std::vector<std::string> hook_readable(const HookDefinition& definition, const HookBytes& bytes,
                                       const std::string& user_home);

// Never null.
std::shared_ptr<CommandCage> hook_cage(const ExternalEnvironment& environment,
                                       const std::vector<std::string>& readable);

}  // namespace agentd
