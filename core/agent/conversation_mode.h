// SPDX-License-Identifier: Apache-2.0
#pragma once
// conversation_mode.h - the permission mode that a client has chosen for a conversation, kept in the store beside it.
//
// It holds whenever the daemon works in the conversation, also after a restart, and a fork has it, too. It is no part
// of the log: an export does not have it, and an import begins with the settings' mode.
//
// Threading: thread-safe, as the store.

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/store/store.h"
#include "core/tools/permission.h"

namespace agentd {

// `conversation`: an id as Ulid::text() has it.

// nullopt: none was chosen. kCorrupt: what is kept is no mode, so that nobody knows what is allowed.
Result<std::optional<PermissionRules::Mode>> mode_of_conversation(const Store& store, const std::string& conversation);
Result<void> keep_mode(Store& store, const std::string& conversation, PermissionRules::Mode mode);
// For a fork, before it is made. Keeps nothing where `from` has none.
Result<void> copy_mode(Store& store, const std::string& from, const std::string& to);
// Fine where none is kept.
Result<void> forget_mode(Store& store, const std::string& conversation);

}  // namespace agentd
