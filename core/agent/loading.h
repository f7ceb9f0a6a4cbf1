// SPDX-License-Identifier: Apache-2.0
#pragma once
// loading.h - from a store's records to a conversation in memory. Private to this room.
//
// Threading: pure functions over a thread-safe store.

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/ids.h"
#include "core/conversation/message_keys.h"
#include "core/conversation/view.h"
#include "core/model/provider.h"
#include "core/store/store.h"

namespace agentd {

// The conversation at its head: reads no more of the log than the view needs. kNotFound, kCorrupt.
Result<std::unique_ptr<Conversation>> load_conversation(const Store& store, const Ulid& id, const Rows::Count& count);
// The same at an earlier revision, from the first record on.
Result<std::unique_ptr<Conversation>> load_conversation_at(const Store& store, const Ulid& id, std::uint64_t revision,
                                                           const Rows::Count& count);
// The tools that the last run which had any offered its model: what a request about its calls names.
// Empty when there was none, or when the text of them is gone.
Result<std::vector<ToolSpec>> load_last_tools(const Store& store, const Ulid& id);
// The keys of the messages up to `revision`, which reads the log from its start. A fork has its own, behind the records
// that it was made of.
Result<MessageKeys> load_message_keys(const Store& store, const Ulid& id, std::uint64_t revision);
// The record at `seq`. kCorrupt: there is none.
Result<StoredRecord> load_record(const Store& store, const Ulid& id, std::uint64_t seq);
// The end of the run to which `record` belongs. nullopt: it has none, since its process ended.
Result<std::optional<RunEndRecord>> load_run_end(const Store& store, const Ulid& id, const StoredRecord& record);
// Every message of the log from sequence `from`, at most `limit`, up to `revision` (0 = head). Messages in the user's
// place that hooks, agents or the runtime have written are as they are stored, or have AGENTD_MESSAGE_CONTEXT.
enum class Others { kAsStored, kAsContext };
Result<Rows> load_log_messages(const Store& store, const Ulid& id, std::uint64_t revision, std::uint64_t from,
                               std::uint32_t limit, Others others = Others::kAsStored);

// The first `count` of a view's rows with their whole texts: a summary is made of what was said, not of
// what pruning left of it. kCorrupt: a row is not in the log.
Result<Rows> load_originals(const Store& store, const Ulid& id, const Rows& rows, std::uint32_t count,
                            const Rows::Count& token_count);
// The same, and in place of the mark of a cut the messages that it stands for: what was left out
// when no summary could be had becomes part of the next one. `origins` are those of the view.
struct SummarySource {
  Rows rows;
  std::uint32_t count = 0;  // number of leading rows to summarise
  Origins origins;          // of the rows
  std::span<const agentd_message> messages() const { return {rows.begin(), count}; }
};
Result<SummarySource> load_summary_source(const Store& store, const Ulid& id, const Rows& rows, const Origins& origins,
                                          std::uint32_t count, const Rows::Count& token_count);
// The author of a cut's mark.
inline constexpr std::string_view kCutAuthor = "truncation";

}  // namespace agentd
