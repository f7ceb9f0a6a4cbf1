// SPDX-License-Identifier: Apache-2.0
#include "core/transfer/record_check.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::size_t kPathMax = 4'096, kNameMax = 1'000;  // bytes

Error invalid(std::string why) { return {Code::kInvalid, std::move(why)}; }

template <class T>
Result<void> readable(const Result<T>& read) {
  if (read) return {};
  return invalid(read.error().message);
}

Result<void> check_boundary(const StoredRecord& record) {
  const auto boundary = read_boundary(record.record);
  if (!boundary) return invalid(boundary.error().message);
  const auto before = [&](std::uint64_t seq) { return seq < record.seq; };
  const bool ranges = std::all_of(boundary->kept.begin(), boundary->kept.end(), [&](const SeqRange& range) {
    return range.first != 0 && range.first <= range.last && before(range.last);
  });
  const bool prunes = std::all_of(boundary->prunes.begin(), boundary->prunes.end(),
                                  [&](const Prune& prune) { return before(prune.seq); });
  if (ranges && prunes && before(boundary->base_seq) && before(boundary->summary_seq)) return {};
  return invalid("a boundary refers to records that do not come before it");
}

Result<void> check_revert(const StoredRecord& record) {
  const auto revert = read_revert(record.record);
  if (!revert) return invalid(revert.error().message);
  if (revert->to_seq < record.seq && revert->boundary_seq < record.seq && revert->first_seq < record.seq) return {};
  return invalid("a revert refers to records that do not come before it");
}

// Where the conversation has worked is where it goes on here.
Result<void> check_genesis(const Record& record) {
  const auto genesis = read_genesis(record);
  if (!genesis) return invalid(genesis.error().message);
  const std::string& cwd = genesis->cwd;
  if (!cwd.empty() && (!cwd.starts_with('/') || cwd.size() > kPathMax || has_control_character(cwd)))
    return invalid("the directory of the conversation is no absolute path");
  if (genesis->project_id.size() > kNameMax || has_control_character(genesis->project_id))
    return invalid("the project of the conversation is no name");
  return {};
}

Result<void> check_kind(const StoredRecord& stored) {
  const Record& record = stored.record;
  switch (record.type) {
    case RecordType::kGenesis:
      return check_genesis(record);
    case RecordType::kSettings:
      return readable(read_settings(record));
    case RecordType::kRunBegin:
      return readable(read_run_begin(record));
    case RecordType::kUserMessage:
    case RecordType::kContext:
    case RecordType::kAssistantMessage:
    case RecordType::kSummary:
      return readable(read_message(record));
    case RecordType::kUsage:
      return readable(read_usage(record));
    case RecordType::kToolIntent:
      return readable(read_tool_intent(record));
    case RecordType::kToolResult:
      return readable(read_tool_result(record));
    case RecordType::kPermission:
      return readable(read_permission(record));
    case RecordType::kBoundary:
      return check_boundary(stored);
    case RecordType::kCompactionAttempt:
      return readable(read_compaction_attempt(record));
    case RecordType::kRevert:
      return check_revert(stored);
    case RecordType::kCheckpoint:
      return readable(read_checkpoint(record));
    case RecordType::kMeta:
      return readable(read_meta(record));
    case RecordType::kErase:
      return readable(read_erase(record));
    case RecordType::kRunEnd:
      return readable(read_run_end(record));
    case RecordType::kWait:
      return readable(read_wait(record));
    case RecordType::kAnswer:
      return readable(read_answer(record));
    case RecordType::kDirectResult:
      return readable(read_direct_result(record));
    case RecordType::kHookEffect:
    case RecordType::kChild:
      break;  // nothing reads them
  }
  return {};
}

}  // namespace

Result<void> check_stranger(const StoredRecord& stored) {
  const Record& record = stored.record;
  if ((record.flags & ~Record::kCritical) != 0) return invalid("a record has flags that only a store sets");
  const bool known = !name_of(record.type).empty();
  const bool newer = known ? record.version != 1 : (record.flags & Record::kCritical) != 0;
  if (newer)
    return invalid("kind " + std::to_string(static_cast<unsigned>(record.type)) + ", version " +
                   std::to_string(static_cast<unsigned>(record.version)) +
                   ", was written by a newer agentd: update this one");
  if (record.run > kRunMax || record.turn > kRunMax) return invalid("a record has an impossible run or turn");
  const auto payload = JsonDocument::parse(record.payload);
  if (!payload) return invalid("the payload of a record is not JSON: " + payload.error().message);
  if (!payload->root().is_object()) return invalid("the payload of a record is not a JSON object");
  return known ? check_kind(stored) : Result<void>();
}

}  // namespace agentd
