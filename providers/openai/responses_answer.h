// SPDX-License-Identifier: Apache-2.0
#pragma once
// responses_answer.h - assembles the events of one answer of the Responses API.
//
// Events as in platform.openai.com/docs/api-reference/responses-streaming. An answer is complete after
// response.completed or response.incomplete; tool calls are returned only from a completed one. Thinking is kept as the
// received item, so that it can be sent back byte for byte.
//
// Threading: thread-compatible.

#include <map>
#include <optional>
#include <string>

#include "core/codec/json.h"
#include "providers/common/exchange.h"
#include "providers/common/pieces.h"

namespace agentd {

class ResponsesAnswer final : public StreamedAnswer {
 public:
  static constexpr std::size_t kItemsMax = 1024;

  explicit ResponsesAnswer(ModelSink& sink) : sink_(sink) {}

  Result<void> take(const SseEvent& event) override;
  bool began() const override { return began_; }
  bool whole() const override { return !status_.empty(); }
  const std::optional<Reported>& reported_error() const override { return reported_; }
  Result<ModelResponse> finish() override;
  Message partial() const override;
  const std::optional<Usage>& usage() const override { return usage_; }

 private:
  enum class Kind { kNone, kMessage, kCall, kReasoning, kOther };
  static Kind kind_of(std::string_view type);

  struct Item {
    Kind kind = Kind::kNone;  // kNone: not announced yet
    std::string call_id, name, arguments, text, thought, phase, raw;
    TextPieces pieces{};
    bool told = false;
  };
  Result<void> on_event(std::string_view type, JsonView root);
  Result<void> on_item(JsonView root, bool done);
  Result<void> on_end(std::string_view type, JsonView response);
  Result<void> on_error(JsonView error);
  Result<Item*> item_at(JsonView root);
  void add_text(Item& item, std::string_view piece);
  void add_thought(Item& item, std::string_view piece);
  void read_item(Item& item, JsonView json);
  void read_usage(JsonView usage);
  StopReason stop_reason() const;
  bool completed() const;

  ModelSink& sink_;
  std::map<std::uint64_t, Item> items_;  // by their place in the output
  std::optional<Usage> usage_;
  std::string status_, reason_;  // at the end; empty before it
  std::optional<Reported> reported_;
  bool began_ = false, refused_ = false;
};

}  // namespace agentd
