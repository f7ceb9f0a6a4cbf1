// SPDX-License-Identifier: Apache-2.0
#include "core/session/removal.h"

#include <unistd.h>

#include <cerrno>

#include "core/account/ledger.h"
#include "core/agent/checkpoints.h"
#include "core/agent/conversation_mode.h"
#include "core/process/spill.h"
#include "core/search/search.h"

namespace agentd {

Result<WipeReport> remove_conversation(Store& store, const std::string& home, const Clock& clock,
                                       const Ulid& conversation) {
  const std::string id = conversation.text();
  AGENTD_TRY_VOID(store.remove(conversation));
  const auto gone = [&](const std::string& what, const Error& why) {
    return Error{why.code, "conversation " + id + " was deleted, but " + what + ": " + why.message};
  };
  if (const auto done = Ledger(store, {}, kConversations).forget(id); !done)
    return gone("its cost is still kept for its limits", done.error());
  if (const auto done = forget_checkpoints(store, id); !done)
    return gone("the names of its checkpoints stay", done.error());
  if (const auto done = forget_mode(store, id); !done) return gone("its permission mode is still kept", done.error());
  remove_spilled(home, id);
  const std::string transcript = home + "/transcripts/" + id + ".jsonl";
  if (::unlink(transcript.c_str()) != 0 && errno != ENOENT)
    return gone("its transcript stays", errno_error("removing " + transcript, errno));
  if (const auto done = forget_search_index(home, clock); !done)
    return gone("its text stays in the search index until the next search", done.error());
  auto wiped = store.wipe();
  if (!wiped) return gone("the pages that it had in the store were not overwritten", wiped.error());
  return *wiped;
}

}  // namespace agentd
