// SPDX-License-Identifier: Apache-2.0
// model_call_hooks.cc - what hooks make of the request and of the answer.
#include <algorithm>
#include <utility>

#include "core/agent/run/model_call.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

// How often hooks may set another model for one call.
constexpr int kModelChoicesMax = 3;

// Puts a rewritten answer in place of the text blocks. Its thinking, which may say what was taken out, goes, unless the
// answer calls tools: their providers refuse the next request without it.
void replace_text(Message& message, const std::string& text) {
  std::vector<Block> blocks;
  const bool keeps_thinking = has_tool_calls(message);
  bool placed = false;
  for (Block& block : message.blocks) {
    if (block.kind == BlockKind::kThinking && !keeps_thinking) continue;
    if (block.kind != BlockKind::kText) {
      blocks.push_back(std::move(block));
    } else if (!placed && !text.empty()) {
      blocks.push_back(Block::of_text(text));
      placed = true;
    }
  }
  if (!placed && !text.empty()) blocks.insert(blocks.begin(), Block::of_text(text));
  message.blocks = std::move(blocks);
}

// The answer as hooks see it, and as they have left it so far.
struct AnswerPayload {
  agentd_model_response record{};
  std::string text;
  Message message;
  Rows rows;

  explicit AnswerPayload(const Message& answer) : text(answer.text()), message(answer) {
    record.size = sizeof record;
    record.text = to_abi(text);
    show_message();
  }
  AnswerPayload(const AnswerPayload&) = delete;
  AnswerPayload& operator=(const AnswerPayload&) = delete;
  void show_message() {
    rows = Rows();
    rows.append(message, 0, 0);
    record.message = &rows[0];
  }
  static void rewrite(void* me, std::uint32_t, std::string_view rewritten) {
    auto& mine = *static_cast<AnswerPayload*>(me);
    mine.text = std::string(rewritten);
    mine.record.text = to_abi(mine.text);
    replace_text(mine.message, mine.text);
    mine.show_message();
  }
};

}  // namespace

// ---- the request

// Hooks judge the call that is made: if a hook names another model, all hooks are called again for that model, and
// their second answers are used.
Result<void, RunError> ModelCall::before(OutgoingCall& out, std::uint32_t attempt) {
  const ModelProvider& provider = session_.base().provider;
  session_.position.asked = provider.origin_of(out.request.model);
  if (!session_.hooks.wants(AGENTD_EVENT_BEFORE_MODEL_CALL)) return {};
  std::vector<std::string> contexts;  // of hooks that were called for another model
  for (int choices = 0;; ++choices) {
    auto judged = judge(out, attempt);
    if (!judged) return judged.error();
    if (*judged == nullptr) return {};
    const Outcome& outcome = **judged;
    const std::string model = model_named_by(outcome, out.request.model);
    if (model == out.request.model) {
      apply(outcome, std::move(contexts), out);
      return {};
    }
    if (choices == kModelChoicesMax)
      return RunError{RunError::Kind::kBlocked,
                      "hooks keep setting different models for this call: " + one_line(out.request.model, 80) +
                          ", then " + one_line(model, 80) + ", and so on"};
    for (const Outcome::Attributed& context : outcome.contexts) contexts.push_back(context.action.text);
    out.request.model = model;
    session_.position.asked = provider.origin_of(model);
  }
}

// The model that the last hook which names one wants to be asked; `current` where none does.
std::string ModelCall::model_named_by(const Outcome& outcome, const std::string& current) const {
  const auto named = std::find_if(outcome.sets.rbegin(), outcome.sets.rend(),
                                  [](const Outcome::Attributed& set) { return set.action.target == AGENTD_KEY_MODEL; });
  // The name that hooks are shown leaves out its vendor.
  if (named == outcome.sets.rend() || named->action.text == session_.position.asked.model) return current;
  if (is_blank(named->action.text)) {
    session_.hooks.report_refusal(named->by.hook, AGENTD_EVENT_BEFORE_MODEL_CALL, "it names no model");
    return current;
  }
  return session_.agent.real_model(named->action.text);
}

// Null: no hook was called.
Result<std::unique_ptr<Outcome>, RunError> ModelCall::judge(const OutgoingCall& out, std::uint32_t attempt) {
  const agentd_gauge gauge = to_abi(session_.context.gauge());
  std::vector<agentd_tool_info> infos;
  for (const ToolSpec& tool : out.tools)
    infos.push_back(
        {sizeof(agentd_tool_info), tool.flags, to_abi(tool.name), to_abi(tool.description), to_abi(tool.origin)});
  agentd_model_call payload{};
  payload.size = sizeof payload;
  payload.model = to_abi(session_.position.asked.model);
  payload.message_count = out.rows.size();
  payload.max_output_tokens = out.request.max_output_tokens;
  payload.context = &gauge;
  payload.tools = {infos.data(), static_cast<std::uint32_t>(infos.size()), sizeof(agentd_tool_info)};
  payload.messages = out.rows.list();
  payload.system = to_abi(out.request.system);
  agentd_model_call bare = payload;
  bare.messages = {nullptr, 0, sizeof(agentd_message)};
  Fired fired;
  fired.event = AGENTD_EVENT_BEFORE_MODEL_CALL;
  fired.payload = &payload;
  fired.bare = &bare;
  fired.attempt = attempt;
  auto outcome = session_.hooks.fire(fired);
  if (!outcome) return outcome;
  if (auto runs = session_.hooks.check_stopped(); !runs) return runs.error();
  if (outcome->blocked)
    return RunError{RunError::Kind::kBlocked,
                    "the model call was blocked by " + outcome->blocked_by.hook + ": " + outcome->reason};
  return outcome;
}

// `contexts` were given before and are not said again.
void ModelCall::apply(const Outcome& outcome, std::vector<std::string> contexts, OutgoingCall& out) const {
  for (const Outcome::Attributed& change : outcome.others) {
    const bool disable = change.action.kind == AGENTD_ACT_TOOLS_DISABLE;
    if (!disable && change.action.kind != AGENTD_ACT_TOOLS_ENABLE) continue;
    std::string names = "," + change.action.text + ",";
    std::erase(names, ' ');
    const auto named = [&](const ToolSpec& tool) { return names.find("," + tool.name + ",") != std::string::npos; };
    std::erase_if(out.tools, [&](const ToolSpec& tool) { return named(tool) == disable; });
  }
  if (!outcome.exclusive.empty() && outcome.exclusive[0].action.kind == AGENTD_ACT_REPLACE_MESSAGES)
    replace_rows(outcome.exclusive[0], out.rows);
  for (const Outcome::Attributed& context : outcome.contexts) {
    std::erase(contexts, context.action.text);
    contexts.push_back(context.action.text);
  }
  for (const std::string& context : contexts) {
    if (is_blank(context)) continue;
    Message message = Message::of_text(Role::kUser, context);
    message.flags = AGENTD_MESSAGE_CONTEXT;
    out.rows.append(message, 0, session_.base().clock.wall_ms());
  }
}

// A replacement before a model call changes that one request; log and view stay.
void ModelCall::replace_rows(const Outcome::Attributed& asked, Rows& rows) const {
  const auto refuse = [&](const std::string& reason) {
    session_.hooks.report_refusal(asked.by.hook, AGENTD_EVENT_BEFORE_MODEL_CALL,
                                  "its replacement was refused: " + reason);
  };
  const std::uint64_t revision = session_.conversation().revision();
  if (asked.action.base_revision != revision)
    return refuse("it was made for revision " + std::to_string(asked.action.base_revision) +
                  ", but the conversation is at " + std::to_string(revision));
  auto planned = plan_replacement(rows, session_.conversation().state().ranges(), asked.action, asked.by.hook);
  if (!planned) return refuse(planned.error().message);
  const Gauge gauge = session_.context.gauge();
  std::uint64_t tokens = 0;
  for (const agentd_message& row : planned->rows) tokens += session_.base().estimator.count_row(row);
  if (gauge.limit != 0 && gauge.scaled(tokens) + gauge.floor > gauge.limit && tokens > rows.tokens())
    return refuse("its " + with_commas(gauge.scaled(tokens)) + " tokens do not fit the window");
  rows = std::move(planned->rows);
}

// ---- the answer

ModelResponse ModelCall::after(ModelResponse response, std::uint64_t started_ns) {
  if (!session_.hooks.wants(AGENTD_EVENT_AFTER_MODEL_CALL)) return response;
  AnswerPayload payload(response.message);
  const std::string original = payload.text;
  const agentd_usage usage = to_abi(response.usage.value_or(Usage{}));
  payload.record.stop_reason = static_cast<std::uint32_t>(response.stop_reason);
  payload.record.usage = &usage;
  payload.record.duration_ns = session_.base().clock.monotonic_ns() - started_ns;
  Fired fired;
  fired.event = AGENTD_EVENT_AFTER_MODEL_CALL;
  fired.payload = &payload.record;
  fired.context = &payload;
  fired.rewrite = AnswerPayload::rewrite;
  const auto outcome = session_.hooks.fire(fired);
  if (outcome && !outcome->rewrites.empty()) {
    // An answer that a guard could not look at is withheld whole: no block of it is kept, and no tool
    // call of it runs.
    if (outcome->withheld) {
      response.message.blocks.clear();
      calls_.forget();
      if (response.stop_reason == StopReason::kToolUse) response.stop_reason = StopReason::kEndTurn;
    }
    replace_text(response.message, payload.text);
    session_.hooks.record_effect(AGENTD_EVENT_AFTER_MODEL_CALL, outcome->rewrites.back().by, HookEffect::kRewrite,
                                 original, payload.text, {});
  }
  if (session_.hooks.redacts_answers() && !payload.text.empty()) session_.surface.tell(told::TextDelta{payload.text});
  return response;
}

}  // namespace agentd
