// SPDX-License-Identifier: Apache-2.0
#pragma once
// answer.h - assembles the chunks of one answer of streamGenerateContent.
//
// Chunks as in ai.google.dev/api/generate-content#v1beta.GenerateContentResponse. An answer is complete when a chunk
// named the reason for its end, or the prompt was blocked. Tool calls are returned only from an answer that ended
// normally. A signature is kept with its part: a call, a text, or thinking.
//
// Threading: thread-compatible.

#include <optional>
#include <string>
#include <vector>

#include "core/codec/json.h"
#include "providers/common/exchange.h"

namespace agentd {

class GoogleAnswer final : public StreamedAnswer {
 public:
  static constexpr std::size_t kPartsMax = 4096;

  explicit GoogleAnswer(ModelSink& sink) : sink_(sink) {}

  Result<void> take(const SseEvent& event) override;
  bool began() const override { return !blocks_.empty(); }
  bool whole() const override { return !finish_reason_.empty() || !block_reason_.empty(); }
  const std::optional<Reported>& reported_error() const override { return reported_; }
  Result<ModelResponse> finish() override;
  Message partial() const override;
  const std::optional<Usage>& usage() const override { return usage_; }

 private:
  Result<void> on_part(JsonView part);
  void add_text(BlockKind kind, std::string_view text, std::string_view signature);
  void on_call(JsonView call, std::string_view signature);
  void read_usage(JsonView usage);

  ModelSink& sink_;
  std::vector<Block> blocks_;
  std::optional<Usage> usage_;
  std::string finish_reason_, block_reason_;
  std::optional<Reported> reported_;
  std::size_t parts_ = 0;
};

// kInterrupted for an unknown reason.
StopReason google_stop_reason(std::string_view name);

}  // namespace agentd
