// SPDX-License-Identifier: Apache-2.0
#pragma once
// chat_answer.h - assembles the chunks of one answer of Chat Completions.
//
// Chunks as in platform.openai.com/docs/api-reference/chat-streaming, and in the variants of other servers: calls
// without an index or an id, complete arguments in one piece, reasoning under either name, contents as lists, no
// finish_reason or no [DONE]. An answer is complete after one of these two; tool calls are returned only from such an
// answer. A call's input is passed on unchanged, even if it is not a JSON object: the caller of the tool reports that
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

class ChatAnswer final : public StreamedAnswer {
 public:
  static constexpr std::size_t kCallsMax = 1024;

  explicit ChatAnswer(ModelSink& sink) : sink_(sink) {}

  Result<void> take(const SseEvent& event) override;
  bool began() const override { return began_; }
  bool whole() const override { return done_ || !finish_reason_.empty(); }
  const std::optional<Reported>& reported_error() const override { return reported_; }
  Result<ModelResponse> finish() override;
  Message partial() const override;
  const std::optional<Usage>& usage() const override { return usage_; }

 private:
  struct Call {
    std::int64_t index = -1;  // on the wire; -1 = none
    std::string id{}, name{}, arguments{};
    TextPieces pieces{};
    bool told = false;
  };
  struct Text {
    std::string text;
    TextPieces pieces{};
  };
  Result<void> on_error(JsonView error);
  Result<void> on_delta(JsonView delta);
  void on_content(JsonView content);
  void add_text(std::string_view piece);
  void add_thought(std::string_view piece);
  Result<void> on_call(JsonView piece);
  Call* call_for(JsonView piece);
  void end_pieces();
  void read_usage(JsonView usage);

  ModelSink& sink_;
  Text text_, thought_;
  std::vector<Call> calls_;
  std::optional<Usage> usage_;
  std::string finish_reason_;
  std::optional<Reported> reported_;
  bool began_ = false, done_ = false, refused_ = false;
};

// kInterrupted for an unknown reason, whose meaning for the answer's calls is unknown too.
StopReason chat_stop_reason(std::string_view name);

}  // namespace agentd
