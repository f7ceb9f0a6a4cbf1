// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session/context.h"

#include <algorithm>
#include <utility>

#include "core/agent/loading.h"
#include "core/agent/subagent_tool.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"
#include "core/tokens/reports.h"

namespace agentd {
namespace {

bool same_to_model(const std::vector<Tool>& a, const std::vector<Tool>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tool& one, const Tool& other) {
    return one.name == other.name && one.description == other.description &&
           one.input_schema_json == other.input_schema_json;
  });
}

std::string cut_warning(std::uint64_t reported, std::uint64_t estimated) {
  return "the server has read " + with_commas(reported) + " tokens of a request of about " + with_commas(estimated) +
         ": it has truncated the prompt, and the model does not see the full conversation. Set context_window to the "
         "server's window, or give the server a larger one (Ollama: OLLAMA_CONTEXT_LENGTH)";
}

}  // namespace

std::string Context::system_text() const {
  std::string text = options_.system_prompt;
  const auto append = [&](std::string_view more) {
    if (more.empty()) return;
    if (!text.empty()) text += "\n\n";
    text += more;
  };
  append(options_.instructions);
  if (position_.agent.depth != 0) append(subagent_system_text());
  for (const std::string& context : session_contexts_) append(context);
  return text;
}

void Context::set_session_contexts(const Outcome& outcome) {
  if (!outcome.contexts.empty()) session_contexts_.clear();
  floor_.reset();
  for (const Outcome::Attributed& context : outcome.contexts)
    if (!context.action.text.empty()) session_contexts_.push_back(context.action.text);
}

// ---- tools

// A tool of that name that somebody else brings stays what it is.
void Context::refresh_tools() {
  std::vector<Tool> tools = agent_.parts().tools.tools();
  if (options_.subagents && offers_subagents_ && position_.agent.depth < kSubagentDepthMax) {
    Tool task = subagent_tool();
    const auto is_named = [&](const Tool& tool) { return tool.name == task.name; };
    if (std::none_of(tools.begin(), tools.end(), is_named)) tools.push_back(std::move(task));
  }
  if (!same_to_model(tools, tools_)) floor_.reset();
  tools_ = std::move(tools);
}

const Tool* Context::find_tool(std::string_view name) const {
  const auto found = std::find_if(tools_.begin(), tools_.end(), [&](const Tool& tool) { return tool.name == name; });
  return found == tools_.end() ? nullptr : &*found;
}

std::vector<ToolSpec> Context::tool_specs() const {
  std::vector<ToolSpec> specs;
  if (!options_.offer_tools) return specs;
  for (const Tool& tool : tools_)
    specs.push_back({tool.name, tool.description, tool.input_schema_json, tool.flags, tool.origin});
  return specs;
}

std::vector<ToolSpec> Context::tools_beside(std::span<const agentd_message> rows) const {
  if (!holds_tool_blocks(rows)) return {};
  std::vector<ToolSpec> own = tool_specs();
  if (!own.empty()) return own;
  // A recipe for summaries offers none.
  auto last = load_last_tools(agent_.parts().store, position_.conversation);
  if (last) return std::move(*last);
  agent_.parts().log.write(LogLevel::kWarning, "agent",
                           "the tools of the history could not be read: " + last.error().message);
  return {};
}

// ---- tokens

std::uint64_t Context::floor_tokens() const {
  if (!floor_) floor_ = count_frame(system_text(), tool_specs());
  return *floor_;
}

std::uint64_t Context::count_frame(const std::string& system, std::span<const ToolSpec> tools) const {
  std::string text = system;
  for (const ToolSpec& tool : tools) text.append(tool.name).append(tool.description).append(tool.input_schema_json);
  return agent_.parts().estimator.count_text(text);
}

// Learns from the tokens added since the last report, which say more about the next ones than the whole
// does; additions too small to measure wait until they have added up.
void Context::learn_tokens(const std::string& model, std::uint64_t estimated, std::uint64_t reported) {
  const bool grows = measured_.model == model && estimated >= measured_.estimated && reported >= measured_.reported;
  const std::uint64_t fresh = grows ? estimated - measured_.estimated : estimated;
  if (fresh < Calibration::kEstimatedMin) return;
  const std::uint64_t whole = reported - std::min(reported, shared_.conversation().hidden_tokens());
  const std::uint64_t truth = grows ? reported - measured_.reported : whole;
  // System prompt and tools are a part of every whole request: no tokenizer makes so much of them.
  // Something was added on the way, and what is new in the next request says more.
  const bool added_to = !grows && truth / 5 > fresh / 2;
  if (!added_to) agent_.factors().learn(model, fresh, truth);
  measured_ = {model, estimated, reported};
}

Context::TurnUsage Context::usage_of_turn(const Usage& usage, std::uint64_t seq, const std::string& model,
                                          std::uint64_t estimated) {
  TurnUsage out{{usage, seq, std::string(name_of(UsagePurpose::kTurn))}, {}};
  const auto corrected = [&] {
    return static_cast<std::uint64_t>(static_cast<double>(estimated) * agent_.factors().of(model) + 0.5);
  };
  const std::uint64_t reported = usage.prompt_tokens();
  const bool cut = is_cut(reported, corrected(), agent_.factors().knows(model));
  if (cut && !std::exchange(told_cut_, true)) out.warning = cut_warning(reported, corrected());
  if (cut || !can_be_true(usage, estimated, agent_.model_info(model).window)) {
    out.record.for_seq = 0;
    return out;
  }
  const std::uint64_t hidden = shared_.conversation().hidden_tokens();
  out.record.estimated = corrected() + hidden;
  learn_tokens(model, estimated, reported);
  out.record.hidden = unexplained_tokens(reported, corrected(), hidden);
  return out;
}

void Context::gauge_answer(const ModelResponse& answer, const std::string& model, std::uint64_t estimated) {
  const Usage usage = answer.usage.value_or(Usage{});
  const bool believed =
      can_be_true(usage, estimated, agent_.model_info(model).window) &&
      !is_cut(usage.prompt_tokens(), agent_.corrected(model, estimated), agent_.factors().knows(model));
  if (believed) {
    fresh_answer_ = FreshAnswer{log_.batch(), usage, 0};
    return;
  }
  Rows rows(agent_.row_count());
  rows.append(answer.message, 0, 0);
  fresh_answer_ = FreshAnswer{log_.batch(), std::nullopt, rows.tokens()};
}

Gauge Context::gauge() const {
  const Conversation& conversation = shared_.conversation();
  const ModelInfo info = agent_.model_info(options_.model);
  const Rows& rows = conversation.rows();
  const std::uint64_t reported = conversation.reported_seq();
  std::uint64_t fresh = reported == 0 ? usual_floor_tokens() + rows.tokens() : 0;
  if (reported != 0)
    for (std::uint32_t i = rows.size(); i-- > 0 && rows[i].seq > reported;) fresh += rows[i].tokens;
  const FreshAnswer* const answer = fresh_answer_ && fresh_answer_->batch == log_.batch() ? &*fresh_answer_ : nullptr;
  if (answer != nullptr) fresh += answer->tokens;
  Gauge gauge = make_gauge(options_.budget, info.window, info.max_output, 0, 0);
  gauge.scale = agent_.factors().of(options_.model);
  gauge.floor = gauge.scaled(usual_floor_tokens()) + conversation.hidden_tokens();
  gauge.used =
      gauge.scaled(fresh) + (reported != 0 ? conversation.last_report().total() : conversation.hidden_tokens());
  if (answer != nullptr && answer->report) gauge.used = answer->report->total();
  gauge.reported = reported != 0 || (answer != nullptr && answer->report);
  gauge.compactions = conversation.compactions();
  return gauge;
}

}  // namespace agentd
