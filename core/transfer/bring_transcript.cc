// SPDX-License-Identifier: Apache-2.0
#include "core/base/bytes.h"
#include "core/transfer/bring.h"
#include "core/transfer/record_check.h"

namespace agentd {
namespace {

constexpr std::size_t kTitleBytes = 80;

// A log as its appends would have made it.
class LogBuilder {
 public:
  Result<void> add(std::int64_t time_ms, std::vector<Record> records) {
    VerifiedBatch& batch = log_.batches.emplace_back();
    batch.time_ms = time_ms;
    for (Record& record : records) {
      StoredRecord stored;
      stored.seq = ++seq_;
      stored.time_ms = time_ms;
      stored.digest = sha256(record.payload);
      stored.bytes = record.payload.size();
      stored.record = std::move(record);
      AGENTD_TRY_VOID(check_stranger(stored));
      batch.records.push_back(std::move(stored));
    }
    return {};
  }
  WholeLog take() { return std::move(log_); }

 private:
  WholeLog log_;
  std::uint64_t seq_ = 0;
};

}  // namespace

Result<Brought> bring_transcript(Store& store, IdSource& ids, const Clock& clock, ForeignTranscript transcript,
                                 const ImportPlace& place, const Digest& bytes) {
  const ImportOrigin origin{std::string(name_of(transcript.form)), one_line(transcript.session_id, 200), hex(bytes),
                            one_line(transcript.version, 80)};
  auto before = brought_before(store, origin);
  if (before) return Brought{Brought::What::kHere, std::move(*before), origin.from};
  if (before.error().code != Code::kNotFound) return before.error();
  const Ulid id = ids.next();
  GenesisRecord genesis;
  genesis.conversation_id = id.text();
  genesis.project_id = place.project_id;
  genesis.cwd = place.cwd;
  LogBuilder log;
  const std::int64_t begin = transcript.commits.empty() ? clock.wall_ms() : transcript.commits.front().time_ms;
  AGENTD_TRY_VOID(log.add(begin, {write_genesis(genesis)}));
  std::int64_t last = begin;
  for (ForeignTranscript::Timed& commit : transcript.commits) {
    for (Record& record : commit.records) {
      if (record.type != RecordType::kBoundary) continue;
      AGENTD_TRY(BoundaryRecord boundary, read_boundary(record));
      boundary.id = ids.next().text();
      record = write_boundary(boundary);
    }
    last = commit.time_ms;
    AGENTD_TRY_VOID(log.add(commit.time_ms, std::move(commit.records)));
  }
  MetaRecord meta;
  meta.title = one_line(transcript.title, kTitleBytes);
  if (!meta.title->empty()) AGENTD_TRY_VOID(log.add(last, {write_meta(meta)}));
  Brought out{Brought::What::kNew, {}, origin.from};
  AGENTD_TRY(out.info, bring_whole(store, clock, id, log.take(), origin));
  return out;
}

}  // namespace agentd
