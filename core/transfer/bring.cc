// SPDX-License-Identifier: Apache-2.0
#include "core/transfer/bring.h"

#include "core/agent/checkpoints.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::string_view kSpace = "agentd.imports";
constexpr std::size_t kKeyDigits = 40;

std::string key_of(const ImportOrigin& origin) {
  return "of/" + hex(sha256(origin.form + '\0' + origin.from + '\0' + origin.digest)).substr(0, kKeyDigits);
}

std::string row_of(const ImportOrigin& origin, std::int64_t now_ms) {
  JsonWriter out;
  out.begin_object().member("form", origin.form).member("from", origin.from).member("digest", origin.digest);
  out.optional("version", origin.version).member("imported_ms", now_ms).end_object();
  return std::string(out.text());
}

// The rows by which lists find the checkpoints of the log. Its newest one is not the project's, and a row that is there
// is another conversation's.
Result<void> add_checkpoints(const Store& store, const Ulid& id, const WholeLog& log, const std::string& project_id,
                             std::vector<KeyPut>& out) {
  for (const VerifiedBatch& batch : log.batches)
    for (const StoredRecord& stored : batch.records) {
      if (stored.record.type != RecordType::kCheckpoint) continue;
      AGENTD_TRY(const CheckpointRecord record, read_checkpoint(stored.record));
      if (record.conversation_id != id.text() || record.why.empty() || !Ulid::parse(record.id)) continue;
      const std::vector<KeyPut> rows = rows_of_checkpoint(record, project_id, stored.seq, stored.time_ms);
      const auto there = store.get_key(rows[0].space, rows[0].key);
      if (!there && there.error().code != Code::kNotFound) return there.error();
      if (!there) out.insert(out.end(), rows.begin(), rows.begin() + 2);
    }
  return {};
}

// The same log under another id.
Result<void> rename(WholeLog& log, const Ulid& id) {
  StoredRecord& first = log.batches.front().records.front();
  AGENTD_TRY(GenesisRecord genesis, read_genesis(first.record));
  genesis.conversation_id = id.text();
  first.record = write_genesis(genesis);
  first.digest = sha256(first.record.payload);
  first.bytes = first.record.payload.size();
  return {};
}

ImportOrigin origin_of(const LogFileHead& head) {
  return {"agentd", head.conversation_id, hex(head.chain), one_line(head.agentd, 80)};
}

// The log is here under its own id, maybe with more records. nullopt: another one is, or none.
Result<std::optional<Brought>> found_here(const Store& store, const LogFile& file, bool& taken) {
  auto info = store.info(file.conversation);
  taken = info.has_value();
  if (!info && info.error().code != Code::kNotFound) return info.error();
  if (!info || info->revision < file.head.revision) return std::optional<Brought>();
  AGENTD_TRY(const Digest chain, store.chain(file.conversation, file.head.revision));
  if (chain != file.head.chain) return std::optional<Brought>();
  Brought out{Brought::What::kHere, std::move(*info), file.head.conversation_id};
  out.newer = out.info.revision - file.head.revision;
  return std::optional(std::move(out));
}

}  // namespace

Result<ConversationInfo> brought_before(const Store& store, const ImportOrigin& origin) {
  AGENTD_TRY(const StoredKey row, store.get_key(kSpace, key_of(origin)));
  const auto id = Ulid::parse(row.value);
  if (!id) return Error{Code::kNotFound, "no conversation " + one_line(row.value, 40)};
  return store.info(*id);
}

Result<ConversationInfo> bring_whole(Store& store, const Clock& clock, const Ulid& id, const WholeLog& log,
                                     const ImportOrigin& origin) {
  WholeLogs* const logs = whole_logs(store);
  if (logs == nullptr) return Error{Code::kInvalid, "this store takes no whole logs"};
  AGENTD_TRY(const GenesisRecord genesis, read_genesis(log.batches.front().records.front().record));
  std::vector<KeyPut> keys{{std::string(kSpace), "id/" + id.text(), row_of(origin, clock.wall_ms())},
                           {std::string(kSpace), key_of(origin), id.text()}};
  AGENTD_TRY_VOID(add_checkpoints(store, id, log, genesis.project_id, keys));
  AGENTD_TRY(const std::unique_ptr<Lease> lease, store.lease(id));
  return logs->bring(id, log, keys);
}

std::string_view name_of(Brought::What what) {
  switch (what) {
    case Brought::What::kNew:
      return "new";
    case Brought::What::kOther:
      return "new_id";
    case Brought::What::kHere:
      return "here";
  }
  return {};
}

Result<Brought> bring_log(Store& store, IdSource& ids, const Clock& clock, LogFile file) {
  bool taken = false;
  AGENTD_TRY(std::optional<Brought> here, found_here(store, file, taken));
  if (here) return std::move(*here);
  const ImportOrigin origin = origin_of(file.head);
  auto before = brought_before(store, origin);
  if (before) {
    Brought out{Brought::What::kHere, std::move(*before), file.head.conversation_id};
    out.newer = out.info.revision - std::min(out.info.revision, file.head.revision);
    return out;
  }
  if (before.error().code != Code::kNotFound) return before.error();
  Brought out{taken || file.waits ? Brought::What::kOther : Brought::What::kNew, {}, file.head.conversation_id};
  Ulid id = file.conversation;
  if (out.what == Brought::What::kOther) {
    id = ids.next();
    AGENTD_TRY_VOID(rename(file.log, id));
    out.note = taken ? "a conversation " + file.head.conversation_id + " with other content is here already"
                     : "a tool call waits for an answer in " + file.head.conversation_id +
                           ", which is not asked here: the call counts as not run";
  }
  AGENTD_TRY(out.info, bring_whole(store, clock, id, file.log, origin));
  return out;
}

}  // namespace agentd
