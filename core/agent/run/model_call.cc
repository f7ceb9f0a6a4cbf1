// SPDX-License-Identifier: Apache-2.0
// model_call.cc - the request and its answer.
#include "core/agent/run/model_call.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/agent/loading.h"

namespace agentd {
namespace {

// The user message behind an answer that its provider has paused (pause_turn): current models refuse a
// conversation that ends with an assistant message.
constexpr std::string_view kGoOn = "Continue.";

// Streams the answer to the surface and to hooks that observe deltas.
class StreamSink final : public ModelSink {
 public:
  using Delta = std::function<void(std::string_view)>;
  // `withhold`: a hook may rewrite the answer, so nothing is shown before it has spoken.
  StreamSink(const Surface& surface, Delta delta, bool withhold)
      : surface_(surface), delta_(std::move(delta)), withhold_(withhold) {}

  void on_text(std::string_view delta) override {
    if (withhold_) return;
    surface_.tell(told::TextDelta{delta});
    if (delta_) delta_(delta);
  }
  void on_thinking(std::string_view delta) override {
    if (!withhold_) surface_.tell(told::ThinkingDelta{delta});
  }
  void on_tool_call(std::string_view, std::string_view) override {}
  void on_wait(Milliseconds wait, const ModelError& why) override {
    surface_.tell(told::Notice{asked_again_text(wait) + ": " + why.message});
  }

 private:
  const Surface& surface_;
  const Delta delta_;
  const bool withhold_;
};

std::uint64_t tokens_of(const Rows& rows, const TokenEstimator& estimator) {
  std::uint64_t tokens = 0;
  for (const agentd_message& row : rows) tokens += estimator.count_row(row);
  return tokens;
}

}  // namespace

Result<ModelResponse, RunError> ModelCall::ask() {
  for (std::uint32_t attempt = 1;; ++attempt) {
    // Context that hooks added during the compaction is part of the request.
    if (auto done = session_.log.commit(); !done) return done.error();
    OutgoingCall out;
    if (auto made = prepare(out, attempt); !made) return made.error();
    const std::uint64_t started = session_.base().clock.monotonic_ns();
    ModelResult answer = send(out.request);
    if (!answer) {
      auto next = recover(answer.error(), out.request);
      if (!next) return next.error();
      if (*next) return std::move(**next);
    } else if (!asks_to_spell_again(*answer)) {
      return take(std::move(*answer), started);
    }
    if (auto runs = session_.hooks.check_stopped(); !runs) return runs.error();
  }
}

ModelResponse ModelCall::take(ModelResponse answer, std::uint64_t started_ns) {
  if (answer.malformed_call) session_.hooks.warn(answer.note);
  run_.bounded_to = answer.bounded_to;
  calls_.take(answer.message);
  // A summary says nothing about the view.
  if (session_.messages.prompt())
    session_.context.forget_answer();
  else
    session_.context.gauge_answer(answer, model_, estimate_);
  return after(std::move(answer), started_ns);
}

// ---- the request

void ModelCall::choose_model(ModelRequest& request) const {
  const AgentOptions& options = session_.options;
  request.model = run_.fallback == 0 ? options.model : options.fallbacks[run_.fallback - 1];
  if (run_.compaction) request.model = run_.compaction->model();
  request.max_output_tokens = options.max_output_tokens;
  const ModelTable& models = session_.base().models;
  if (run_.fallback != 0 && models.knows(request.model))
    request.max_output_tokens = std::min(request.max_output_tokens, models.find(request.model).max_output);
}

// A run that writes a summary sends the whole history, and calls no tool.
Result<void, RunError> ModelCall::take_whole_history(OutgoingCall& out) const {
  auto whole = load_summary_source(session_.base().store, session_.position.conversation, out.rows,
                                   *out.request.origins, out.rows.size(), {});
  if (!whole) return store_error(whole.error());
  out.rows = std::move(whole->rows);
  out.origins = std::move(whole->origins);
  out.request.origins = &out.origins;
  out.tools = session_.context.tools_beside({out.rows.begin(), out.rows.size()});
  out.request.may_call_tools = false;
  return {};
}

// Adds the parts that hooks do not see: the messages as the model reads them, the schema, the closing instructions.
void ModelCall::add_form(OutgoingCall& out) {
  ModelRequest& request = out.request;
  const auto& prompt = session_.messages.prompt();
  out.marked.emplace(std::span<const agentd_message>(out.rows.begin(), out.rows.size()), request.origins);
  const ModelInfo info = session_.base().models.find(request.model);
  out.visible.emplace(out.marked->rows(), info.images, info.documents);
  request.messages = out.visible->rows();
  if (run_.schema && run_.schema_in_words)
    request.system += (request.system.empty() ? "" : "\n\n") + run_.schema->words();
  else if (run_.schema && !prompt)
    request.output_schema = run_.schema->json();
  request.tools = out.tools;
  if (run_.pauses != 0) request.closing_text = kGoOn;
  if (prompt) request.closing_text = *prompt;
  request.thinking = session_.agent.thinking_for(request.model, request.max_output_tokens, run_.compaction != nullptr);
  request.thinking_back = info.thinking_back;
}

Result<void, RunError> ModelCall::prepare(OutgoingCall& out, std::uint32_t attempt) {
  ModelRequest& request = out.request;
  choose_model(request);
  request.system = session_.context.system_text();
  out.tools = session_.context.tool_specs();
  request.conversation_id = session_.position.conversation_id;
  out.rows = session_.conversation().pin();
  request.origins = &session_.conversation().origins();
  if (session_.messages.prompt())
    if (auto taken = take_whole_history(out); !taken) return taken.error();
  if (auto asked = before(out, attempt); !asked) return asked.error();
  calls_.offer(out.tools);
  add_form(out);
  if (run_.compaction) run_.compaction->set_model(request.model);
  run_.sent_output_max = request.max_output_tokens + request.thinking.room;
  model_ = request.model;
  estimate_ = estimate_of(out);
  request.prompt_tokens = session_.agent.corrected(model_, estimate_);
  return {};
}

// Hooks may have taken tools away and put other messages in place of the view's.
std::uint64_t ModelCall::estimate_of(const OutgoingCall& out) const {
  const TokenEstimator& estimator = session_.base().estimator;
  const ModelRequest& request = out.request;
  const std::size_t offered = session_.options.offer_tools ? session_.context.tools().size() : 0;
  const bool as_it_was = request.tools.size() == offered;
  const std::uint64_t frame =
      as_it_was ? session_.context.floor_tokens() : session_.context.count_frame(request.system, request.tools);
  const bool of_view = out.rows.begin() == session_.conversation().rows().begin();
  return frame + estimator.count_text(request.closing_text) +
         (of_view ? out.rows.tokens() : tokens_of(out.rows, estimator)) + tokens_of(out.marked->marks(), estimator);
}

ModelResult ModelCall::send(const ModelRequest& request) {
  StreamSink::Delta delta;
  if (session_.hooks.wants(AGENTD_EVENT_MODEL_DELTA))
    delta = [this](std::string_view text) {
      const agentd_str one = to_abi(text);
      agentd_model_delta payload{sizeof(agentd_model_delta), 0, {&one, 1, sizeof one}};
      session_.hooks.fire(AGENTD_EVENT_MODEL_DELTA, &payload);
    };
  StreamSink sink(session_.surface, delta, session_.hooks.redacts_answers());
  // The time limit is the provider's setting.
  ModelResult answer = session_.shared.account()->complete(request, sink, session_.shared.cancel(), {});
  if (answer && !answer->note.empty() && !answer->malformed_call) session_.hooks.warn(answer->note);
  // Unreported and interrupted answers are charged too.
  if (answer && !answer->usage) session_.shared.count_usage(answer->spent);
  if (!answer && answer.error().usage) charge_interrupted(*answer.error().usage);
  return answer;
}

void ModelCall::charge_interrupted(const Usage& usage) {
  session_.shared.charge(usage, std::string(name_of(UsagePurpose::kInterrupted)));
}

}  // namespace agentd
