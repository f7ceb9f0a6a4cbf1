// SPDX-License-Identifier: Apache-2.0
#pragma once
// answer.h - the event stream of one answer, put together.
//
// Events as in docs.anthropic.com/en/docs/build-with-claude/streaming. Types that are not known are
// skipped, as that page asks. A tool call leaves here only in an answer that came whole: its
// content_block_stop, the stop reason and message_stop were seen. Its input is handed on as it was
// written, also when it is no JSON object: whoever runs the call tells the model.
//
// Threading: thread-compatible.

#include <optional>
#include <string>
#include <vector>

#include "core/codec/json.h"
#include "providers/common/exchange.h"
#include "providers/common/pieces.h"

namespace agentd {

class AnthropicAnswer final : public StreamedAnswer {
 public:
  static constexpr std::size_t kBlocksMax = 4096;

  // `long_cache`: an hour was asked for; a server that does not say how long it keeps what it writes keeps it so.
  explicit AnthropicAnswer(ModelSink& sink, bool long_cache = false) : sink_(sink), long_cache_(long_cache) {}

  Result<void> take(const SseEvent& event) override;
  // message_start was seen.
  bool began() const override { return began_; }
  // message_stop was seen.
  bool whole() const override { return whole_; }
  const std::optional<Reported>& reported_error() const override { return reported_; }
  Result<ModelResponse> finish() override;
  Message partial() const override;
  const std::optional<Usage>& usage() const override { return usage_; }

 private:
  struct Part {
    std::int64_t index = 0;
    std::string type;  // on the wire
    Block block;
    TextPieces pieces{};  // of its text, or of its input
    bool known = false;
    bool open = true;
  };
  Result<void> on_message_start(JsonView message);
  Result<void> on_block_start(JsonView event);
  Result<void> on_delta(JsonView event);
  Result<void> apply_delta(Part& part, std::string_view type, JsonView delta);
  Result<void> on_block_stop(JsonView event);
  // Whole characters of the part's text or input: kept, and told to the sink.
  void add(Part& part, const std::string& text);
  Result<void> on_error(JsonView error);
  void on_message_delta(JsonView event);
  void read_usage(JsonView usage);
  Part* find(JsonView event);

  ModelSink& sink_;
  const bool long_cache_;
  bool split_said_ = false;  // the server has said how long it keeps what it has written
  std::vector<Part> parts_;
  std::optional<Usage> usage_;
  std::string refusal_;  // the category, and the explanation behind it
  std::string stop_reason_;
  std::optional<Reported> reported_;
  bool began_ = false;
  bool whole_ = false;
};

// kInterrupted for a reason that is not known: what it means for calls of the answer is not known either.
StopReason anthropic_stop_reason(std::string_view name);

}  // namespace agentd
