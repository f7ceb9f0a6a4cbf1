// SPDX-License-Identifier: Apache-2.0
#pragma once
// log_reader.h - reads a conversation's file (log_file.h) of a stranger: nothing of it is believed before its end.
//
// Threading: thread-compatible.

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/conversation/view.h"
#include "core/transfer/log_file.h"

namespace agentd {

// The longest line: a record has 256 MiB at most.
inline constexpr std::size_t kLogFileLineMax = 384u << 20;

struct LogFile {
  LogFileHead head;
  Ulid conversation;
  WholeLog log;
  ConversationInfo info;  // of the log
  bool waits = false;     // a call waits for an answer, or for what follows it
};

// Each error is kInvalid and one sentence, which begins with the number of the line.
class LogReader {
 public:
  // The next line without its end.
  Result<void> add(std::string_view line);
  // REQUIRES: all lines were added, and each was whole. The log is verified: digests, chain, sequences, erasures,
  // texts, and that its view can be made.
  Result<LogFile> finish();

 private:
  Result<void> head(std::string_view line);
  Result<void> record(std::string_view line, JsonView json);
  Result<void> end_batch(JsonView json);
  Result<void> text(JsonView json);
  Result<void> end(std::string_view line, JsonView json);
  Result<void> check_whole();
  Error wrong(std::string_view why) const;

  std::uint64_t line_ = 0;
  LogFile file_;
  VerifiedBatch open_;  // the batch that goes on
  Digest chain_{};
  std::uint64_t seq_ = 0;
  std::set<Digest> wanted_;  // texts that a batch has named and that have not come
  std::set<Digest> named_;
  ViewState view_;
  Sha256 lines_;
  bool has_head_ = false, has_end_ = false;
};

// Reads a complete file. As LogReader.
Result<LogFile> read_log_file(std::string_view bytes);

}  // namespace agentd
