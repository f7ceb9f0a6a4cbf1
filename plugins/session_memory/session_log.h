// SPDX-License-Identifier: Apache-2.0
#pragma once
// session_log.h - the messages of a session as distillation reads them, and what of a text only tool output brought.
//
// Threading: SessionLog is a value; Borrowed is immutable after construction.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace session_memory {

// A call of a tool with its result, which may be missing.
struct LoggedCall {
  std::uint64_t seq = 0;         // of the message with the call
  std::uint64_t result_seq = 0;  // 0 = no result
  std::string tool, call_id, input_json;
  std::string output;
  bool failed = false;

  // The command line of a call that runs one; empty for another tool.
  std::string command() const;
  // The file that the call changes; empty for a call that changes none.
  std::string changed_file() const;
};

// A text of the user or of the model.
struct LoggedText {
  enum class By : std::uint8_t { kUser, kModel };
  By by = By::kUser;
  std::uint64_t seq = 0;
  std::string text;
};

struct SessionLog {
  std::vector<LoggedText> texts;  // in order of the log, both
  std::vector<LoggedCall> calls;
  std::int64_t last_ms = 0;  // of the last message; 0 = unknown

  bool is_empty() const { return texts.empty() && calls.empty(); }
  // The text that the model wrote last before or at `seq`; empty without one.
  std::string_view said_before(std::uint64_t seq) const;
  // The part from `seq` on.
  SessionLog since(std::uint64_t seq) const;
};

// Tells whether a sentence or a command came from the output of a tool and from nowhere else. Output may have any
// author: a memory must not carry it into another session as if the user or the model had meant it.
class Borrowed {
 public:
  // Compares all that the model said, the commands that it ran and `also`, which was said last, with the outputs before
  // each. Linear in the log; what is kept is linear in what was said. Beyond 32 MiB of outputs every text counts as
  // borrowed.
  explicit Borrowed(const SessionLog& log, std::span<const std::string_view> also = {});

  // True if the text has a run of words that a tool printed before the model said it, and that the user never said: six
  // words, or the complete text if it has three to five. Shorter ones are names. Words that the constructor did not see
  // are not borrowed.
  bool is_borrowed(std::string_view sentence) const;
  // The text without its borrowed sentences, lines and sentences with borrowed quoted commands.
  std::string without_borrowed(std::string_view text) const;

 private:
  enum class From : std::uint8_t { kUnknown, kTool, kOwn };
  void track(std::string_view text);
  void mark(std::string_view text, From from);

  std::unordered_map<std::uint64_t, From> runs_;  // by the hash of a run of 3 to 6 words
};

// The sentences and lines of a text, with the blanks and stops that end them; joined they are the text.
std::vector<std::string_view> sentences_of(std::string_view text);

}  // namespace session_memory
