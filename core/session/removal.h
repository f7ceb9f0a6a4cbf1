// SPDX-License-Identifier: Apache-2.0
#pragma once
// removal.h - takes a conversation away with everything that is kept about it.
//
// Threading: thread-safe, as the store.

#include <string>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace agentd {

// The conversation with its receipts, its limits, its permission mode, the names of its checkpoints, its transcript for
// hooks, the outputs of its commands, and the search index, which has its texts; then Store::wipe(), which takes time
// linear in the store. Memories of it stay. kNotFound: there is none. After another error the conversation may be gone,
// and the sentence says what stays.
Result<WipeReport> remove_conversation(Store& store, const std::string& home, const Clock& clock,
                                       const Ulid& conversation);

}  // namespace agentd
