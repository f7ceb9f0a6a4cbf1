// SPDX-License-Identifier: Apache-2.0
#pragma once
// transcript_builder.h - the messages of another agent in the order of a log: each answer with all of its calls, each
// call followed by its result.
//
// Threading: thread-compatible.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/json.h"
#include "core/conversation/message.h"
#include "core/transfer/transcript.h"

namespace agentd {

class TranscriptBuilder {
 public:
  explicit TranscriptBuilder(FileForm form) { out_.form = form; }

  ForeignTranscript& head() { return out_; }
  // The time of what follows, "2026-01-31T09:05:07.123Z"; another text keeps the one before.
  void at(std::string_view time);
  void leave_out(const std::string& what, std::uint64_t count = 1) { out_.left_out[what] += count; }

  // Text and media of the user.
  void user(std::vector<Block> blocks);
  // Blocks of an answer. Those with the same `group` are one answer; without one, those that no result parts.
  void assistant(const std::string& group, std::vector<Block> blocks);
  // A call as a block; its input is JSON, or any text.
  static Block call(std::string_view call_id, std::string_view name, std::string_view input);
  void result(std::string_view call_id, std::string text, std::vector<Block> parts, bool error);
  // Stands for everything before it.
  void summary(std::string text);
  // An image or a document of base64; what cannot be one is counted, and nothing is added.
  void media(std::vector<Block>& to, bool image, std::string_view media_type, std::string_view data);

  ForeignTranscript finish();

 private:
  struct Call {
    std::string from, id, name;  // from: the id in the transcript
    bool answered = false;
    ToolResultRecord result{};
  };
  void flush();
  bool waits() const;
  void write(std::vector<Record> records);
  void write_user(std::vector<Block> blocks);

  ForeignTranscript out_;
  std::int64_t now_ms_ = 0;
  std::uint64_t seq_ = 1;  // of the last record; the genesis
  bool open_ = false;      // an answer may go on
  std::string group_;
  Message answer_;
  std::int64_t answer_ms_ = 0;
  std::vector<Call> calls_;
  std::vector<std::vector<Block>> held_;  // the user's, until the calls before them have results
  std::set<std::string, std::less<>> ids_;
  std::map<std::string, int, std::less<>> suffixes_;                 // that an id was given last
  std::multimap<std::string, std::size_t, std::less<>> unanswered_;  // of calls_, by their ids in the transcript
};

// Milliseconds since 1970 of an RFC 3339 time in UTC; nullopt for any other text.
std::optional<std::int64_t> read_utc(std::string_view text);

// The texts of a content: a text, or those of a list of blocks, joined by blank lines.
std::string text_of(JsonView content);

// One line of the file after the other, as JSON objects. kInvalid names the line; a last line that is cut off is
// counted instead.
Result<std::vector<JsonDocument>> read_json_lines(std::string_view bytes, std::uint64_t& cut_off);

}  // namespace agentd
