// SPDX-License-Identifier: Apache-2.0
#pragma once
// summariser.h - from messages to one summary, whatever the size of either. Private to this room.
//
// The messages go to the model as they are, with the prompt behind them. What its window cannot
// hold goes there in parts, as text: each part is summarised, and the summaries are made one. A
// window that turns out to be smaller than it was said to be makes smaller parts. What a server
// refuses as invalid goes there as text likewise.
//
// Threading: one call at a time; `cancel` may be set from any thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/agent.h"

namespace agentd {

struct SummaryRequest {
  std::string conversation_id, model;
  std::string prompt;  // of the compact recipe, with the instructions
  std::span<const agentd_message> messages;
  const Origins* origins = nullptr;  // of the messages; null = unknown
  // The conversation's tools. They go along where the messages hold tool blocks, since some servers
  // refuse the one without the other; none of them may be called.
  std::span<const ToolSpec> tools{};
  // With the conversation's own model: its system prompt and thinking, so that what the provider
  // has cached of the conversation serves the summary too. Empty = the summariser's own.
  std::string system{};
  Thinking thinking{};
  std::uint64_t max_summary_tokens = 4096;
  std::uint64_t window = 0;  // of the model, in tokens; 0 = unknown, so everything is tried at once
  double scale = 1;          // tokens of the model for one that the estimator counts
};

// A server that takes no such history may take its text, or parts of it: it is too long, or refused
// as invalid.
bool wants_other_form(const ModelError& error);
// True when there is a call of a tool, or a result.
bool holds_tool_blocks(std::span<const agentd_message> rows);

// The model calls of compaction and of hooks: no calls of tools, no hooks, nothing saved.
struct UtilityRequest {
  std::string model, system, closing_text, purpose, conversation_id;
  std::span<const agentd_message> messages;
  std::uint64_t max_output_tokens = 4096;
  std::uint64_t answer_tokens_max = UINT64_MAX;  // of the answer and its thinking together
  std::uint64_t prompt_tokens = 0;               // as in ModelRequest
  const Origins* origins = nullptr;
  // They go along when the messages hold tool blocks; none may be called.
  std::span<const ToolSpec> tools{};
  std::optional<Thinking> thinking{};  // absent = as little as the model can
};
// `account`: who pays, an Account or what draws from one.
ModelResult call_utility(const RuntimeParts& parts, ModelProvider& account, const UtilityRequest& wanted,
                         const CancelToken& cancel);
// The same with the error of a service: kCancelled, kDenied for a limit of the user's, or kUnavailable with what
// the provider said.
Result<ModelResponse> ask_utility(const RuntimeParts& parts, ModelProvider& account, const UtilityRequest& request,
                                  const CancelToken& cancel);

class Summariser {
 public:
  // Hears "part 2 of 5" before the part is sent.
  using Progress = std::function<void(std::string_view)>;

  // All of its requests draw from `account`.
  Summariser(const RuntimeParts& parts, ModelProvider& account, CancelToken cancel, Progress progress)
      : parts_(parts), account_(account), cancel_(std::move(cancel)), progress_(std::move(progress)) {}

  // kUnavailable: the model failed, refused, or wrote nothing; kInvalid: it cannot be used, or not even a
  // part fits its window; kDenied: a limit of the user's does not cover it; kCancelled. spent() holds what
  // it cost also then.
  Result<std::string> summarise(const SummaryRequest& wanted);
  // The last failure was trouble that passes: a later try may succeed.
  bool passes() const { return passes_; }
  // The summary, or one of a part, reached max_summary_tokens, and so did the shorter one that was
  // asked for then: its end is missing.
  bool cut() const { return cut_; }
  const Usage& spent() const { return spent_; }
  std::uint32_t method() const { return method_; }  // AGENTD_METHOD_SUMMARY or _CHUNKED

 private:
  using Asked = Result<std::string, ModelError>;
  // As they are; with the tools and the system prompt of the conversation.
  Asked ask_about_rows(const SummaryRequest& request);
  // Makes one request. A summary that reaches its limit is returned truncated, and sets ended_early_.
  Asked ask(const SummaryRequest& request, UtilityRequest call, std::string_view prompt);
  // The same; what was cut is asked for once more, shorter.
  Asked ask_whole(const SummaryRequest& request, const UtilityRequest& call, std::string_view prompt);
  // About a part, as text. Trouble that passes costs this part alone: the others are not asked
  // again.
  Asked ask_about(const SummaryRequest& request, const std::string& text, std::string_view prompt);
  // All parts at `room` tokens each; a kContextLength error asks for smaller ones.
  Asked in_parts(const SummaryRequest& request, std::uint64_t room);
  Asked unite(const SummaryRequest& request, std::vector<std::string> summaries, std::uint64_t room);
  // Tokens, as the estimator counts, that a request has for messages.
  std::uint64_t room_of(const SummaryRequest& request) const;

  const RuntimeParts& parts_;
  ModelProvider& account_;
  const CancelToken cancel_;
  const Progress progress_;
  Usage spent_;
  std::uint32_t method_ = AGENTD_METHOD_SUMMARY;
  bool ended_early_ = false;  // the last answer
  bool cut_ = false, passes_ = false;
};

// Why a summary that was cut twice is none, and what to do.
std::string cut_summary_text(std::uint64_t max_summary_tokens);

}  // namespace agentd
