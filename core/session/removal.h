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

// The conversation, its limits, its permission mode, the names of its checkpoints, the outputs of its commands, and the
// search index, which has its texts. kNotFound: there is none. After another error the conversation may be gone, and
// the sentence says what stays.
Result<void> remove_conversation(Store& store, const std::string& home, const Clock& clock, const Ulid& conversation);

}  // namespace agentd
