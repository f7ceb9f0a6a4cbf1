// SPDX-License-Identifier: Apache-2.0
#pragma once
// session_commands.h - the commands that a person at an editor writes in place of a message: /compact, /undo,
// /checkpoint, /clear, and the recipes of the project.
//
// Source: agentclientprotocol.com, "Slash Commands".
//
// Threading: one thread, that of the session.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/acp/asker.h"
#include "core/acp/updates.h"
#include "core/session/client_session.h"

namespace agentd::acp {

// The update that lists the commands of a session in that project.
std::string commands_update(const Workplace& workplace);

class SessionCommands {
 public:
  using Run = std::function<Result<RunReport, RunError>(const RunRequest&)>;
  // All outlive it.
  SessionCommands(ClientSession& client, Updates& updates, Asker& asker, Runtime& runtime, Run run)
      : client_(client), updates_(updates), asker_(asker), runtime_(runtime), run_(std::move(run)) {}

  // Does what the text asks for, and tells the person. nullopt: it is no command, so that the model gets it.
  std::optional<Result<RunReport, RunError>> run(std::string_view text, const CancelToken& cancel);

 private:
  using Done = Result<RunReport, RunError>;
  Done compact(const std::string& words, const CancelToken& cancel);
  Done undo(const CancelToken& cancel);
  Done checkpoint(const std::string& name);
  Done clear(const CancelToken& cancel);
  bool fill(const std::string& name, RecipeValues& given);
  Done recipe(const std::string& name, const std::string& words, const CancelToken& cancel);

  ClientSession& client_;
  Updates& updates_;
  Asker& asker_;
  Runtime& runtime_;
  const Run run_;
};

}  // namespace agentd::acp
