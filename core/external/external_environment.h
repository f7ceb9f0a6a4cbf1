// SPDX-License-Identifier: Apache-2.0
#pragma once
// external_environment.h - the needs of hooks that are not native modules: of the process, and of their bytes.
//
// Threading: values; what they refer to is thread-safe.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/bridge/token_table.h"
#include "core/external/webhook.h"
#include "core/hooks/services.h"
#include "core/net/http.h"
#include "core/process/command_cage.h"
#include "core/trust/script_copy.h"
#include "core/trust/sealed_file.h"

namespace agentd {

struct HookDefinition;  // definition.h
struct RawAnswer;       // dialect.h

// The sandbox of a hook that may read these files and directories in addition to what commands may. Never null: where
// none can be made, it refuses with the reason. An empty function: there is none.
using MakeHookCage = std::function<std::shared_ptr<CommandCage>(const std::vector<std::string>& readable)>;

// Shared by all external hooks of a process; everything outlives them.
struct ExternalEnvironment {
  TokenTable& tokens;
  Services& services;
  const Clock& clock;
  Log& log;
  // The first webhook makes the client.
  std::function<HttpClient&()> http;
  // Looks up a variable of this process by name, for headers and values.
  std::function<std::optional<std::string>(const std::string&)> variable;
  WebhookRules webhooks;
  std::string project_dir;           // the project's root
  std::string transcript_directory;  // for dialects whose hooks read the conversation from a file
  // The name of the permission mode of an open conversation; empty = it is not open.
  std::function<std::string(std::string_view conversation_id)> permission_mode{};
  // Called after every run of a program or webhook with its input and its raw answer, possibly on several threads at
  // once. Empty = unused.
  std::function<void(const HookDefinition&, std::string_view input, const RawAnswer&)> tap{};
  // Variables of this process that hooks get in addition to the clean environment.
  std::vector<std::string> pass_environment{};
  // Where the programs of hooks with `sandbox` start.
  MakeHookCage cage{};
};

// The bytes of a definition's file.
struct HookBytes {
  std::string digest;  // SHA-256, hex, of the trusted bytes
  // The sealed copy that kFile runs; shared by the definitions of one file.
  std::shared_ptr<const SealedFile> program;
  // The same bytes for an interpreter that needs a real file; null = run the sealed copy.
  std::shared_ptr<const PrivateScript> script;
};

}  // namespace agentd
