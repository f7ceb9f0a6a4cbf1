// SPDX-License-Identifier: Apache-2.0
#pragma once
// compaction_stage.h - the built program before a played Anthropic whose summaries can be made to
// fail, and what tests of compaction read afterwards: events, boundaries, views, the log's chain.
//
// The window is 20,000 tokens, 5,000 of them kept for the answer: 15,000 are the limit, compaction
// is due at 12,000, and the tail may keep 8,000.
//
// Threading: the tests' own thread; the server's threads take what they need under a mutex.

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {

// What happens to a call that asks for a summary.
enum class Fault {
  kNone,
  kServerError,    // 500, for ever
  kOverloaded,     // 529
  kNeverAnswers,   // the connection stays open and silent
  kEmpty,          // an answer without text
  kBlank,          // an answer of blanks
  kRefusal,        // stop_reason refusal
  kCutStream,      // the connection ends in the middle of the text
  kGarbage,        // events whose data is no JSON
  kPromptTooLong,  // 400: the summariser's own window is too small
};

inline constexpr const char* kSummaryText = "SUMMARY-OF-THE-TALK: the user builds a kite; src/kite.cc holds the sail.";
inline constexpr std::uint64_t kStageWindow = 20'000, kStageLimit = 15'000, kStageCompactAt = 12'000;

// Anthropic's Messages API, played. Calls to a cheap model are summaries, all others are turns.
class PlayedAnthropic {
 public:
  struct Call {
    bool summary = false, refused = false;  // refused: a turn that was too long
    std::string model, body;
    Headers headers;
  };
  PlayedAnthropic() : server_([this](const RecordedRequest& request) { return answer(request); }) {}

  // Answers of the next turns; when none is left: "fine".
  PlayedAnthropic& say(std::string text);
  // The same, with what it reports to have read and written.
  PlayedAnthropic& say(std::string text, std::uint64_t input_tokens, std::uint64_t output_tokens);
  PlayedAnthropic& call_tool(std::string name, std::string input_json);
  // 400: prompt is too long.
  PlayedAnthropic& overflow();
  // From now on, for summaries.
  void summaries(Fault fault, std::string text = kSummaryText);
  // In place of the fault: what one summary call is answered.
  void summaries_by(std::function<Reply(const RecordedRequest&)> how);
  // A turn that has more bytes is refused as too long; 0 = none is.
  void refuse_turns_above(std::size_t bytes);

  std::string url() const { return server_.url(); }
  std::vector<Call> calls() const;
  std::vector<Call> calls_since(std::size_t first, bool summary) const;
  // Waits until so many summary calls have arrived; false after a minute.
  bool wait_for_summaries(std::size_t count) const;

  static Reply text_reply(const std::string& body, const std::string& text,
                          const std::string& stop_reason = "end_turn");
  static Reply too_long();

 private:
  Reply answer(const RecordedRequest& request);
  static Reply failed_summary(Fault fault, const std::string& body);

  mutable std::mutex mutex_;
  std::deque<std::function<Reply(const std::string& body)>> turns_;  // guarded by mutex_
  Fault fault_ = Fault::kNone;                                       // guarded by mutex_
  std::string summary_ = kSummaryText;                               // guarded by mutex_
  std::function<Reply(const RecordedRequest&)> how_;                 // guarded by mutex_
  std::vector<Call> calls_;                                          // guarded by mutex_
  std::size_t turn_bytes_max_ = 0;                                   // guarded by mutex_
  LoopbackServer server_;                                            // last: its threads use what stands above
};

class CompactionStage : public ::testing::Test {
 protected:
  explicit CompactionStage(const std::string& more_config = {});

  // A run, with --json; the words follow.
  Finished run(std::vector<std::string> words);
  Finished compact(std::vector<std::string> words = {"--follow"});
  // Two runs that leave about 10,900 tokens, so that a question of 2,000 makes compaction due; the
  // tail holds the second one.
  void fill();
  std::string question(const std::string& words = "the next question") const;
  // A YAML hook, or an executable of the user's directory.
  void yaml_hook(const std::string& name, const std::string& text) const;
  void executable_hook(const std::string& name, const std::string& event, const std::string& body) const;
  // A hook that writes what each of these events carries into a file of its own.
  void record_events(const std::vector<std::string>& events) const;
  // What record_events wrote, in order.
  std::vector<JsonDocument> recorded(const std::string& event) const;

  // ---- of one program's output
  static std::string outcomes(const Finished& ran);  // "applied,failed"
  static std::vector<std::string> types(const Finished& ran);
  // The compact_boundary message; a null document when there is none, or more than one.
  static JsonDocument boundary_message(const Finished& ran);
  static std::size_t count_type(const Finished& ran, const std::string& type);

  // ---- of the conversation
  std::string id() { return program_.newest(); }
  // "messages" of `conversation show --view --format json`: its bytes.
  std::string view();
  std::string whole_log();
  std::vector<JsonDocument> boundaries();
  std::size_t attempts();
  // Opens the store and recomputes every hash of the chain.
  void expect_sound_log();
  // No tool call or result stands alone in any request of a turn from `first` on, and the last one
  // fits.
  void expect_good_requests(std::size_t first) const;

  Program program_;
  PlayedAnthropic model_;
};

// The array of messages of a request's body, checked as the runtime's own checker does; empty =
// sound.
std::string broken_pairs(const std::string& body);
// All texts of a request, arguments of calls included.
std::string texts_of(const std::string& body);

}  // namespace agentd::testing
