// SPDX-License-Identifier: Apache-2.0
#pragma once
// answer.h - assembles the event stream of one answer.
//
// Events as in docs.anthropic.com/en/docs/build-with-claude/streaming. Unknown types are skipped, as that page
// requires. Tool calls are returned only from a complete answer: content_block_stop, the stop reason and message_stop
// arrived. A call's input is passed on unchanged, even if it is not a JSON object: the caller of the tool reports that
// to the model.
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

  // `long_cache`: the request asked for an hour, which is assumed unless the server reports how long it keeps its
  // writes.
  explicit AnthropicAnswer(ModelSink& sink, bool long_cache = false) : sink_(sink), long_cache_(long_cache) {}

  Result<void> take(const SseEvent& event) override;
  // True after message_start.
  bool began() const override { return began_; }
  // True after message_stop.
  bool whole() const override { return whole_; }
  const std::optional<Reported>& reported_error() const override { return reported_; }
  Result<ModelResponse> finish() override;
  Message partial() const override;
  const std::optional<Usage>& usage() const override { return usage_; }

 private:
  enum class Kind { kUnknown, kText, kThinking, kRedacted, kToolUse };
  static Kind kind_of(std::string_view type);
  static std::string_view name_of(Kind kind);

  struct Part {
    std::int64_t index = 0;
    Kind kind = Kind::kUnknown;
    Block block;
    TextPieces pieces{};  // of its text, or of its input
    bool open = true;
  };
  Result<void> on_message_start(JsonView message);
  Result<void> on_block_start(JsonView event);
  Result<void> on_delta(JsonView event);
  Result<void> apply_delta(Part& part, std::string_view type, JsonView delta);
  Result<void> on_block_stop(JsonView event);
  // Stores complete characters of the part's text or input, and passes them to the sink.
  void add(Part& part, const std::string& text);
  Result<void> on_error(JsonView error);
  void on_message_delta(JsonView event);
  void read_usage(JsonView usage);
  Part* find(JsonView event);

  ModelSink& sink_;
  const bool long_cache_;
  bool split_said_ = false;  // the server has reported how long it keeps its writes
  std::vector<Part> parts_;
  std::optional<Usage> usage_;
  std::string refusal_;  // the category, followed by the explanation
  std::string stop_reason_;
  std::optional<Reported> reported_;
  bool began_ = false;
  bool whole_ = false;
};

// kInterrupted for an unknown reason, whose meaning for the answer's calls is unknown too.
StopReason anthropic_stop_reason(std::string_view name);

}  // namespace agentd
