// SPDX-License-Identifier: Apache-2.0
// model_trouble.cc - what follows when the model's answer cannot be used, or none came.
#include <algorithm>
#include <utility>

#include "core/agent/run/model_call.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"
#include "core/tokens/retirement.h"

namespace agentd {
namespace {

// How often an interrupted answer is requested again.
constexpr std::uint32_t kBrokenAnswersMax = 2;
// Before an answer that a busy provider broke off is asked for again; the first and each further time.
constexpr Milliseconds kBusyWait{1'000}, kBusyWaitMax{60'000};

bool may_pass_elsewhere(ModelErrorKind kind) {
  return kind == ModelErrorKind::kOverloaded || kind == ModelErrorKind::kRateLimit || kind == ModelErrorKind::kServer ||
         kind == ModelErrorKind::kNetwork || kind == ModelErrorKind::kInterrupted || kind == ModelErrorKind::kBilling;
}

// "0.4 s", "12 s"
std::string seconds_text(Milliseconds time) {
  if (time >= Milliseconds(10'000)) return std::to_string((time.count() + 500) / 1'000) + " s";
  const auto tenths = (time.count() + 50) / 100;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " s";
}

// The message without its advice to a person, for what agentd does itself.
std::string without_advice(const ModelError& error) {
  const std::string_view advice = advice_for(error.kind);
  std::string_view message = error.message;
  if (!advice.empty() && message.ends_with("; " + std::string(advice))) message.remove_suffix(advice.size() + 2);
  return std::string(message);
}

RunError::Kind kind_of(ModelErrorKind kind) {
  if (kind == ModelErrorKind::kCancelled) return RunError::Kind::kCancelled;
  if (kind == ModelErrorKind::kLedger) return RunError::Kind::kStore;
  return kind == ModelErrorKind::kLimit ? RunError::Kind::kLimit : RunError::Kind::kProvider;
}

}  // namespace

std::string asked_again_text(Milliseconds wait) { return "the model is called again in " + seconds_text(wait); }

// A call that the model could not spell: asked once more, it often can.
bool ModelCall::asks_to_spell_again(const ModelResponse& answer) {
  if (!answer.malformed_call || std::exchange(malformed_, true)) return false;
  charge_interrupted(answer.spent);
  session_.surface.tell(told::AnswerAgain{answer.note});
  return true;
}

Result<std::optional<ModelResponse>, RunError> ModelCall::recover(ModelError error, const ModelRequest& request) {
  using Next = std::optional<ModelResponse>;
  if (!error.partial.text().empty()) half_ = error.partial;
  if (tells_schema_in_words(error, request) || asks_again(error) || falls_back(error, request)) return Next();
  if (error.partial.text().empty()) error.partial = half_;
  if (session_.messages.prompt() && wants_other_form(error)) return summarise_instead(error);
  if (error.kind != ModelErrorKind::kContextLength || overflow_over_ || run_.compaction) return failed(error);
  return make_room(error);
}

// It may be the schema: no vendor holds to every one.
bool ModelCall::tells_schema_in_words(const ModelError& error, const ModelRequest& request) {
  if (error.kind != ModelErrorKind::kInvalid || error.http_status != 400 || request.output_schema.empty()) return false;
  run_.schema_in_words = true;
  session_.hooks.warn(error.message + "; the schema is sent to the model as text instead");
  return true;
}

// A charged answer is requested again from the start, wherever it was interrupted.
bool ModelCall::asks_again(ModelError& error) {
  const bool broke_off = error.kind == ModelErrorKind::kInterrupted || error.usage;
  if (!broke_off || !error.retryable || broken_ >= kBrokenAnswersMax) return false;
  const std::shared_ptr<Account> account = session_.shared.account();
  if (!account->retries().take()) {
    error.message += "; " + account->retries().used_up();
    return false;
  }
  ++broken_;
  const std::string why = without_advice(error);
  session_.surface.tell(told::AnswerAgain{why});
  wait_for_busy(error);
  return true;
}

// A provider that is busy in the middle of an answer is given time, as it is before the first word.
void ModelCall::wait_for_busy(const ModelError& error) {
  if (error.kind != ModelErrorKind::kOverloaded && error.kind != ModelErrorKind::kRateLimit) return;
  const Milliseconds wait = std::min(error.retry_after.value_or(kBusyWait * broken_), kBusyWaitMax);
  session_.surface.tell(told::Notice{asked_again_text(wait)});
  session_.agent.parts().clock.sleep(wait, session_.shared.cancel());
}

// True if the provider does not find a model whose last day is over. The day alone is no reason not to ask: another
// cloud may still serve the model.
bool ModelCall::is_gone(const ModelError& error, const ModelRequest& request) const {
  const AgentParts& base = session_.agent.parts();
  return error.kind == ModelErrorKind::kInvalid && error.http_status == 404 &&
         is_retired(base.models.find(request.model), base.clock.wall_ms());
}

// Trouble of the provider's that another one need not have: it is busy, broken or not to be reached, it has retired the
// model, or the account's limit is spent. Every attempt at another model is judged by the hooks anew, as each request
// is.
bool ModelCall::falls_back(const ModelError& error, const ModelRequest& request) {
  const auto& fallbacks = session_.options.fallbacks;
  // A fallback that the budget does not cover, or whose price is not known, is no reason not to ask the next one.
  const bool trouble = may_pass_elsewhere(error.kind) || is_gone(error, request) ||
                       (error.kind == ModelErrorKind::kLimit && run_.fallback != 0);
  if (!trouble || run_.compaction || run_.fallback >= fallbacks.size()) return false;
  const std::string& next = fallbacks[run_.fallback++];
  const std::string why = without_advice(error);
  session_.hooks.warn(why + "; for the rest of this run " + one_line(next, 80) + " is used instead");
  broken_ = 0;
  if (!error.partial.text().empty()) session_.surface.tell(told::AnswerAgain{why});
  return true;
}

// The provider says that the prompt is too long. One compaction and one more request; a hook that refuses
// is asked a second time, after a request that shows that nothing has changed.
Result<std::optional<ModelResponse>, RunError> ModelCall::make_room(const ModelError& error) {
  using Next = std::optional<ModelResponse>;
  auto done = doors_.after_overflow();
  if (!done) return done.error();
  if (done->outcome == AGENTD_RESULT_VETOED && ++overflow_vetoes_ < 2) return Next();
  overflow_over_ = done->changed();
  if (done->changed()) return Next();
  ModelError reported = error;
  reported.message = without_advice(error) + ", and the conversation could not be compacted: " + done->text;
  return failed(reported);
}

// A run that writes the summary of a conversation that does not fit: in parts.
Result<std::optional<ModelResponse>, RunError> ModelCall::summarise_instead(const ModelError& error) {
  auto summary = run_.compaction->summarise_instead(*session_.messages.prompt());
  if (!summary) {
    ModelError reported = error;
    reported.message = summary.error().message;
    if (summary.error().code == Code::kCancelled) reported.kind = ModelErrorKind::kCancelled;
    return failed(reported);
  }
  ModelResponse response;
  response.message = Message::of_text(Role::kAssistant, *summary);
  if (!session_.hooks.redacts_answers()) session_.surface.tell(told::TextDelta{*summary});
  return std::optional<ModelResponse>(after(std::move(response), session_.base().clock.monotonic_ns()));
}

RunError ModelCall::failed(const ModelError& error) {
  // The received text is kept and marked; an incomplete tool call is dropped.
  if (!error.partial.blocks.empty() && !error.partial.text().empty() && !session_.messages.prompt()) {
    Message partial = error.partial;
    partial.role = Role::kAssistant;
    partial.flags |= AGENTD_MESSAGE_INTERRUPTED;
    std::erase_if(partial.blocks, [](const Block& block) { return block.kind != BlockKind::kText; });
    if (session_.hooks.redacts_answers())
      partial.blocks = {Block::of_text("[withheld: the answer broke off before its hooks saw it]")};
    session_.log.add(write_message({partial, StopReason::kInterrupted, {}, {}, origin()}));
  }
  session_.hooks.notify_error(name_of(error.kind), error.message, "model", error.retryable);
  return {kind_of(error.kind), error.message};
}

}  // namespace agentd
