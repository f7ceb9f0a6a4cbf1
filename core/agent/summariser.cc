// SPDX-License-Identifier: Apache-2.0
#include "core/agent/summariser.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/conversation/marked_rows.h"
#include "core/conversation/visible_rows.h"

namespace agentd {
namespace {

constexpr std::string_view kSummariserPrompt =
    "You summarise conversations between a user and a coding agent, so that the work can go on from the "
    "summary alone.";
constexpr std::uint64_t kRoomMin = 128;  // tokens; with less a part says nothing
constexpr int kSmallerMax = 6;           // halvings of the parts
constexpr int kPartTries = 3;            // of one part, when trouble passes
constexpr std::string_view kCut = "\n\n[The summary ends here because it reached its longest length.]";

std::string part_text(std::string_view what, std::size_t index, std::size_t count, std::string_view text) {
  return "[" + std::string(what) + " " + std::to_string(index + 1) + " of " + std::to_string(count) + "]\n\n" +
         std::string(text);
}

// Before the recipe's prompt, when it is about a part.
std::string part_prompt(std::size_t index, std::size_t count, std::string_view prompt) {
  return "Above is part " + std::to_string(index + 1) + " of " + std::to_string(count) +
         " of a conversation that is too long to be read at once; roles stand in brackets. Do the task "
         "below for this part alone and leave out nothing that a later part may build on. The summaries "
         "of all parts are put together afterwards.\n\n" +
         std::string(prompt);
}

std::string unite_prompt(std::string_view prompt) {
  return "Above are summaries of consecutive parts of one conversation, in order. Put them together into "
         "one by the task below. Keep every fact that stands in only one of them; where they disagree, "
         "the later one holds.\n\n" +
         std::string(prompt);
}

// Not "go on where it was cut": that makes a summary longer than it may be, with a seam in it.
std::string shorter_prompt(std::string_view prompt, std::uint64_t tokens) {
  return std::string(prompt) + "\n\nYour last answer to this was cut: it was longer than the " +
         std::to_string(tokens) + " tokens that an answer may have, including thinking. Write it anew, in at most " +
         std::to_string(tokens / 2) +
         " tokens: what the user wants now, the open work and the next step first and in full, "
         "everything "
         "else as short as it takes.";
}

ModelError unusable(ModelErrorKind kind, std::string message) {
  ModelError error;
  error.kind = kind;
  error.message = std::move(message);
  return error;
}

Error error_of(const ModelError& error) {
  if (error.kind == ModelErrorKind::kCancelled) return {Code::kCancelled, error.message};
  if (error.kind == ModelErrorKind::kLimit) return {Code::kDenied, error.message};
  return {Code::kUnavailable, error.message};
}

bool is_refused_as_invalid(const ModelError& error) {
  return error.kind == ModelErrorKind::kInvalid && error.http_status == 400;
}

Error summary_error(const ModelError& error) {
  // The model is not there, or not for this key: another one may be.
  const bool other = error.kind == ModelErrorKind::kInvalid || error.kind == ModelErrorKind::kAuth;
  return other ? Error{Code::kInvalid, error.message} : error_of(error);
}

}  // namespace

std::string cut_summary_text(std::uint64_t max_summary_tokens) {
  return "the summary was cut at its longest length of " + with_commas(max_summary_tokens) +
         " tokens, even after a shorter one was requested: raise compaction.summary_tokens";
}

bool wants_other_form(const ModelError& error) {
  return error.kind == ModelErrorKind::kContextLength || is_refused_as_invalid(error);
}

bool holds_tool_blocks(std::span<const agentd_message> rows) {
  for (const agentd_message& row : rows)
    for (std::uint32_t i = 0; i < row.blocks.count; ++i)
      if (blocks_of(row)[i].kind == AGENTD_BLOCK_TOOL_USE || blocks_of(row)[i].kind == AGENTD_BLOCK_TOOL_RESULT)
        return true;
  return false;
}

ModelResult call_utility(const RuntimeParts& parts, ModelProvider& account, const UtilityRequest& wanted,
                         const CancelToken& cancel) {
  ModelRequest request;
  request.model = wanted.model;
  request.system = wanted.system;
  const ModelInfo info = parts.models.find(wanted.model);
  const VisibleRows visible(wanted.messages, info.images, info.documents);
  request.messages = visible.rows();
  request.closing_text = wanted.closing_text;
  request.max_output_tokens = wanted.max_output_tokens;
  request.prompt_tokens = wanted.prompt_tokens;
  request.origins = wanted.origins;
  if (holds_tool_blocks(wanted.messages)) request.tools = wanted.tools;
  request.may_call_tools = false;
  request.thinking = wanted.thinking ? *wanted.thinking : least_thinking(info, wanted.max_output_tokens);
  request.thinking_back = info.thinking_back;
  bound_answer(request, wanted.answer_tokens_max);
  request.purpose = wanted.purpose;
  request.conversation_id = wanted.conversation_id;
  NullModelSink sink;
  ModelResult answer = account.complete(request, sink, cancel, Deadline::after(parts.clock, std::chrono::minutes(10)));
  if (answer && !answer->note.empty()) parts.log.write(LogLevel::kWarning, "agent", answer->note);
  return answer;
}

Result<ModelResponse> ask_utility(const RuntimeParts& parts, ModelProvider& account, const UtilityRequest& request,
                                  const CancelToken& cancel) {
  ModelResult answer = call_utility(parts, account, request, cancel);
  if (!answer) return error_of(answer.error());
  return std::move(*answer);
}

std::uint64_t Summariser::room_of(const SummaryRequest& request) const {
  // An estimate is an estimate: a twentieth stays free.
  const double window = static_cast<double>(request.window) * 0.95 / request.scale;
  std::uint64_t taken = request.max_summary_tokens + parts_.estimator.count_text(request.prompt) +
                        parts_.estimator.count_text(kSummariserPrompt) + parts_.estimator.count_text(request.system) +
                        100;
  if (holds_tool_blocks(request.messages))
    for (const ToolSpec& tool : request.tools)
      taken += parts_.estimator.count_text(tool.name + tool.description + tool.input_schema_json);
  const auto whole = static_cast<std::uint64_t>(window);
  return whole > taken ? whole - taken : 0;
}

Summariser::Asked Summariser::ask_about_rows(const SummaryRequest& request) {
  UtilityRequest call;
  call.messages = request.messages;
  call.origins = request.origins;
  call.tools = request.tools;
  if (request.system.empty()) return ask_whole(request, call, request.prompt);
  call.system = request.system;
  call.thinking = request.thinking;
  // Its place is the end: whatever stands before the prompt is as the conversation sends it.
  return ask_whole(request, call, std::string(kSummariserPrompt) + "\n\n" + request.prompt);
}

Summariser::Asked Summariser::ask(const SummaryRequest& request, UtilityRequest call, std::string_view prompt) {
  call.model = request.model;
  if (call.system.empty()) call.system = kSummariserPrompt;
  call.closing_text = prompt;
  call.purpose = "summary";
  call.conversation_id = request.conversation_id;
  call.max_output_tokens = request.max_summary_tokens;
  ModelResult answer = call_utility(parts_, account_, call, cancel_);
  if (!answer) spent_ += answer.error().usage.value_or(Usage{});
  if (!answer) return answer.error();
  spent_ += answer->usage.value_or(Usage{});
  std::string text = answer->message.text();
  if (answer->stop_reason == StopReason::kContextLength)
    return unusable(ModelErrorKind::kContextLength, "the summary does not fit the model's window");
  if (answer->stop_reason == StopReason::kRefusal)
    return unusable(ModelErrorKind::kProtocol, "the model declined to summarise");
  ended_early_ = answer->stop_reason == StopReason::kMaxTokens || answer->stop_reason == StopReason::kInterrupted;
  if (is_blank(text) && !ended_early_) return unusable(ModelErrorKind::kProtocol, "the model's summary is empty");
  return text;
}

Summariser::Asked Summariser::ask_whole(const SummaryRequest& request, const UtilityRequest& call,
                                        std::string_view prompt) {
  Asked first = ask(request, call, prompt);
  if (!first || !ended_early_) return first;
  Asked second = ask(request, call, shorter_prompt(prompt, request.max_summary_tokens));
  if (second && !ended_early_) return second;
  if (!second && (second.error().retryable || second.error().kind == ModelErrorKind::kCancelled)) return second;
  cut_ = true;
  std::string text = second && !is_blank(*second) ? std::move(*second) : std::move(*first);
  if (is_blank(text))
    return unusable(ModelErrorKind::kProtocol, "the model's summary reached its longest length of " +
                                                   with_commas(request.max_summary_tokens) +
                                                   " tokens before its first word; raise compaction.summary_tokens");
  return text += kCut;
}

Summariser::Asked Summariser::ask_about(const SummaryRequest& request, const std::string& text,
                                        std::string_view prompt) {
  Rows rows;
  rows.append(Message::of_text(Role::kUser, text), 0, 0);
  UtilityRequest call;
  call.messages = {rows.begin(), rows.size()};
  for (int tries = 1;; ++tries) {
    Asked answer = ask_whole(request, call, prompt);
    if (answer || !answer.error().retryable || tries == kPartTries || cancel_.cancelled()) return answer;
  }
}

Summariser::Asked Summariser::in_parts(const SummaryRequest& request, std::uint64_t room) {
  method_ = AGENTD_METHOD_CHUNKED;
  const std::vector<std::string> pieces = render_pieces(request.messages, room, parts_.estimator);
  std::vector<std::string> summaries;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (progress_) progress_("part " + std::to_string(i + 1) + " of " + std::to_string(pieces.size()));
    const bool alone = pieces.size() == 1;
    auto summary = ask_about(request, part_text("Part", i, pieces.size(), pieces[i]),
                             alone ? request.prompt : part_prompt(i, pieces.size(), request.prompt));
    if (!summary) return summary.error();
    summaries.push_back(std::move(*summary));
  }
  return unite(request, std::move(summaries), room);
}

Summariser::Asked Summariser::unite(const SummaryRequest& request, std::vector<std::string> summaries,
                                    std::uint64_t room) {
  while (summaries.size() > 1) {
    std::vector<std::string> named;
    for (std::size_t i = 0; i < summaries.size(); ++i)
      named.push_back(part_text("Summary", i, summaries.size(), summaries[i]));
    const std::vector<std::string> groups = join_pieces(named, room, parts_.estimator);
    // Not even two of them go together: one behind the other they are a summary as well.
    if (groups.size() >= summaries.size()) return join(summaries, "\n\n");
    std::vector<std::string> united;
    for (const std::string& group : groups) {
      auto one = ask_about(request, group, unite_prompt(request.prompt));
      if (!one) return one.error();
      united.push_back(std::move(*one));
    }
    summaries = std::move(united);
  }
  return std::move(summaries[0]);
}

Result<std::string> Summariser::summarise(const SummaryRequest& wanted) {
  const MarkedRows marked(wanted.messages, wanted.origins);
  SummaryRequest request = wanted;
  request.messages = marked.rows();
  std::uint64_t tokens = 0;
  for (const agentd_message& row : request.messages) tokens += row.tokens;
  std::uint64_t room = request.window == 0 ? tokens : room_of(request);
  Asked summary = unusable(ModelErrorKind::kContextLength, "");
  if (tokens <= room) {
    summary = ask_about_rows(request);
    // A server that takes no such history takes its text.
    if (!summary && is_refused_as_invalid(summary.error())) summary = in_parts(request, room);
    // A history that did not fit does not fit as text either, unless in parts.
    if (!summary) room = tokens / 2;
  }
  for (int i = 0; !summary && summary.error().kind == ModelErrorKind::kContextLength; ++i, room /= 2) {
    if (i == kSmallerMax || room < kRoomMin)
      return Error{Code::kInvalid, "the window of " + request.model + " has no room for the prompt and a " +
                                       "part of the " + with_commas(tokens) + " tokens to summarise"};
    summary = in_parts(request, room);
  }
  if (summary) return std::move(*summary);
  passes_ = summary.error().retryable;
  return summary_error(summary.error());
}

}  // namespace agentd
