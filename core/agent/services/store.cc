// SPDX-License-Identifier: Apache-2.0
// store.cc - the store as hooks have it: their own keys, and conversations to read.
#include <charconv>
#include <system_error>

#include "core/agent/loading.h"
#include "core/agent/services/services.h"

namespace agentd {
namespace {

Error no_conversation(std::string_view id) { return {Code::kNotFound, "there is no conversation " + std::string(id)}; }

}  // namespace

Result<PluginKey> AgentServices::get(const ServiceCaller& caller, std::string_view key) {
  AGENTD_TRY(StoredKey found, runtime_.parts().store.get_key(caller.plugin_id, key));
  return PluginKey{std::move(found.key), std::move(found.value), found.version};
}

Result<std::vector<PluginKey>> AgentServices::scan(const ServiceCaller& caller, std::string_view prefix,
                                                   std::string_view after, std::uint32_t limit) {
  AGENTD_TRY(std::vector<StoredKey> found, runtime_.parts().store.scan_keys(caller.plugin_id, prefix, after, limit));
  std::vector<PluginKey> out;
  out.reserve(found.size());
  for (StoredKey& key : found) out.push_back({std::move(key.key), std::move(key.value), key.version});
  return out;
}

Result<std::uint64_t> AgentServices::commit(const ServiceCaller& caller, std::span<const PluginKeyOp> ops) {
  std::vector<KeyOp> wanted;
  for (const PluginKeyOp& op : ops) {
    const KeyOp::Kind kind = op.kind == AGENTD_KV_PUT     ? KeyOp::Kind::kPut
                             : op.kind == AGENTD_KV_ERASE ? KeyOp::Kind::kErase
                                                          : KeyOp::Kind::kCheck;
    wanted.push_back({kind, op.key, op.value, op.expect});
  }
  return runtime_.parts().store.commit_keys(caller.plugin_id, wanted);
}

Result<std::vector<ConversationInfo>> AgentServices::conversations(const agentd_conv_query& query) {
  ConversationQuery wanted;
  wanted.project_id = std::string(view_of(query.project_id));
  wanted.text = std::string(view_of(query.text));
  wanted.after = std::string(view_of(query.after));
  wanted.since_ms = query.since_ms;
  wanted.until_ms = query.until_ms;
  if (query.limit != 0) wanted.limit = query.limit;
  return runtime_.parts().store.list(wanted);
}

Result<Rows> AgentServices::messages(std::string_view conversation_id, std::uint32_t scope, std::uint64_t at,
                                     std::uint64_t from, std::uint32_t limit) {
  AGENTD_TRY(const Ulid id, Ulid::parse(conversation_id));
  if (scope == AGENTD_SCOPE_LOG)
    return load_log_messages(runtime_.parts().store, id, at, from, limit, Others::kAsContext);
  AGENTD_TRY(const auto conversation, at == 0
                                          ? load_conversation(runtime_.parts().store, id, runtime_.row_count())
                                          : load_conversation_at(runtime_.parts().store, id, at, runtime_.row_count()));
  Rows out(runtime_.row_count());
  for (const agentd_message& row : conversation->rows()) {
    if (row.seq < from) continue;
    if (out.size() >= limit) break;
    out.append_copy(row);
  }
  return out;
}

Result<std::string> AgentServices::read_blob(std::string_view blob, std::uint64_t offset, std::uint64_t limit) {
  const std::size_t first = blob.find(':');
  const std::size_t second = first == std::string_view::npos ? first : blob.find(':', first + 1);
  std::uint64_t seq = 0;
  std::size_t block = 0;
  if (second == std::string_view::npos ||
      std::from_chars(blob.data() + first + 1, blob.data() + second, seq).ec != std::errc() ||
      std::from_chars(blob.data() + second + 1, blob.data() + blob.size(), block).ec != std::errc())
    return Error{Code::kInvalid, "'" + std::string(blob.substr(0, 64)) + "' is not a blob of a message"};
  AGENTD_TRY(const Ulid id, Ulid::parse(blob.substr(0, first)));
  AGENTD_TRY(const Rows rows, load_log_messages(runtime_.parts().store, id, seq, seq, 1));
  if (rows.empty() || rows[0].seq != seq || block >= rows[0].blocks.count) return no_conversation(blob);
  const std::string_view text = full_text(blocks_of(rows[0])[block]);
  if (offset >= text.size()) return std::string();
  return std::string(text.substr(offset, limit == 0 ? text.size() : limit));
}

// A page without a change is the end of the feed to a plugin, which is not told removals: pages of removals alone are
// passed.
Result<ConversationChanges> AgentServices::changes(std::uint64_t cursor, std::uint32_t limit) {
  AGENTD_TRY(Store::Changes found, runtime_.parts().store.changes(cursor, limit));
  while (found.changed.empty() && !found.removed.empty()) {
    AGENTD_TRY(found, runtime_.parts().store.changes(found.next, limit));
  }
  return ConversationChanges{std::move(found.changed), found.next};
}

}  // namespace agentd
