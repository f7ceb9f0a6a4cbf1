// SPDX-License-Identifier: Apache-2.0
#pragma once
// removed_texts.h - finds the messages that hooks refused or rewrote and that a receipt of session_start keeps as they
// were: agentd up to 0.1.0 told session_start the first message before the hooks of messages had checked it, and a hook
// that is added between the two events still lets it.
//
// Threading: functions over a thread-safe store.

#include <optional>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace agentd {

struct RemovedText {
  Ulid conversation;
  Digest payload{};  // of the receipt
  std::string text;
};

struct RemovedTexts {
  std::vector<RemovedText> found;  // in the order of the conversations, newest first
  std::vector<Ulid> damaged;       // conversations that could not be looked through
};

// Looks through that conversation, or through all: their receipts, and the logs of those alone in which a hook has
// checked a message. One of all that is deleted at the same time has none. kNotFound, kCorrupt: that conversation.
Result<RemovedTexts> removed_texts(const Store& store, const std::optional<Ulid>& conversation = {});

}  // namespace agentd
