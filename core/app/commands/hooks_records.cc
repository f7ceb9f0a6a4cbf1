// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/hooks_records.h"

#include "core/app/exit_codes.h"
#include "core/runtime/lookup.h"
#include "core/runtime/store_setup.h"
#include "core/workplace/project.h"

namespace agentd::app {

Result<RecordsHere, Failure> records_here(const App& app, const std::string& conversation) {
  const Result<std::string> home = app.home();
  if (!home) return Failure{kExitUsage, home.error().message};
  if (const auto cwd = app.directory(); !cwd && conversation.empty())
    return Failure{kExitFailure, cwd.error().message + ", or name a conversation by its id"};
  auto store = open_store(*home, false, app.clock());
  if (!store && store.error().code == Code::kNotFound)
    return Failure{kExitNotFound, "no conversation has been saved yet"};
  if (!store) return Failure{kExitStore, store.error().message};
  const auto id = conversation.empty() ? newest_conversation(**store, find_project(app.surroundings().cwd).id)
                                       : find_conversation(**store, conversation);
  if (!id) return failure_of(id.error());
  return RecordsHere{std::move(*store), *id};
}

}  // namespace agentd::app
