// SPDX-License-Identifier: Apache-2.0
#pragma once
// lookup.h - finding a conversation by what a person says of it.
//
// Threading: as the store.

#include <string>

#include "core/agent/agent.h"
#include "core/store/store.h"

namespace agentd {

// By its id, or by a beginning of it that no other has (4 characters at least). kNotFound; kUsage: several have that
// beginning; kStore.
Result<Ulid, RunError> find_conversation(const Store& store, const std::string& text);
// The newest one of a project that has a message. kNotFound, kStore.
Result<Ulid, RunError> newest_conversation(const Store& store, const std::string& project_id);

}  // namespace agentd
