// SPDX-License-Identifier: Apache-2.0
#pragma once
// log_file.h - a conversation as a file that another agentd reads: lines of JSON, with every record, the texts that the
// log refers to, and its chain. docs/reference/export-format.md has the form.
//
// Receipts of hooks, keys of plugins, spill files and the conversations of subagents are not in it. What was erased
// from the log is not in it either.
//
// Threading: LogExport is thread-compatible; the rest are pure functions.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "core/base/hash.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/store/whole_log.h"

namespace agentd {

inline constexpr std::string_view kLogFileFormat = "agentd-conversation";
inline constexpr unsigned kLogFileVersion = 1;

// The first line.
struct LogFileHead {
  std::string conversation_id, agentd;  // agentd: the version of the writer
  std::int64_t exported_ms = 0;
  std::uint64_t revision = 0;
  Digest chain{};
};
// The last line.
struct LogFileEnd {
  std::uint64_t records = 0, texts = 0;
  Digest chain{};
  Digest lines{};  // SHA-256 of the lines between the two, with their ends
};

// Lines without their ends.
std::string write_log_head(const LogFileHead& head);
std::string write_log_end(const LogFileEnd& end);
// `ends`: the batch that ends with the record; null: another record of it follows.
std::string write_log_record(const StoredRecord& stored, const VerifiedBatch* ends);
std::string write_log_text(const Digest& digest, const std::string& text);

// The file of a conversation as it is at the moment of begin(), piece by piece, while others append to it.
class LogExport {
 public:
  // The store outlives it. kNotFound; kInvalid: the store keeps no logs that can be copied.
  static Result<std::unique_ptr<LogExport>> begin(const Store& store, const Ulid& conversation, std::string agentd,
                                                  std::int64_t now_ms);

  // The next lines with their ends; empty: the file is complete. kConflict: something was erased from the conversation
  // meanwhile, or it was deleted: what was written is not a file. kCorrupt.
  Result<std::string> next();
  const LogFileHead& head() const { return head_; }

 private:
  LogExport(const Store& store, const WholeLogs& logs, const Ulid& conversation, LogFileHead head);
  Result<std::string> batch();

  const Store* store_;
  const WholeLogs* logs_;
  Ulid conversation_;
  LogFileHead head_;
  LogFileEnd end_;
  std::set<Digest> told_;
  Sha256 lines_;
  std::uint64_t seq_ = 0;  // the last one written
  enum class At : std::uint8_t { kHead, kLog, kComplete } at_ = At::kHead;
};

}  // namespace agentd
