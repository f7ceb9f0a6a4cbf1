// SPDX-License-Identifier: Apache-2.0
// services.cc - counting and compacting for hooks.
#include "core/agent/services/services.h"

#include "core/agent/loading.h"
#include "core/agent/services/either_cancel.h"
#include "core/agent/services/hook_account.h"
#include "core/agent/summariser.h"

namespace agentd {

std::uint64_t AgentServices::count_text(std::string_view model, std::string_view text) {
  return runtime_.corrected(runtime_.real_model(model), runtime_.parts().estimator.count_text(text));
}

std::uint64_t AgentServices::count_messages(std::string_view model, const agentd_list& messages) {
  std::uint64_t tokens = 0;
  for (std::uint32_t i = 0; i < messages.count; ++i)
    tokens += runtime_.parts().estimator.count_row(messages_of(messages)[i]);
  return runtime_.corrected(runtime_.real_model(model), tokens);
}

Result<std::string> AgentServices::compaction_prompt(const ServiceCaller& caller, const CompactOptions& options) {
  return sessions_.prompts_of(caller.conversation).compaction_prompt({}, {options.instructions});
}

Result<CompactAnswer> AgentServices::summarise(const Rows& rows, std::span<const SeqRange> view,
                                               const CompactOptions& options, const SessionRegistry::Charged& who,
                                               const ServiceCaller& caller) {
  const ModelSettings& settings = who.settings;
  CompactionRequest request;
  request.reason = AGENTD_REASON_HOOK;
  request.phase = AGENTD_PHASE_POST_TURN;
  request.strategy = options.strategy;
  request.keep_tokens = options.keep_tokens;
  request.max_summary_tokens = options.max_summary_tokens != 0 ? options.max_summary_tokens
                                                               : static_cast<std::uint32_t>(settings.summary_tokens);
  const ModelInfo info = runtime_.model_info(settings.model, settings);
  Gauge gauge = make_gauge(settings.budget, info.window, info.max_output, 0, 0);
  gauge.scale = runtime_.factors().of(settings.model);
  gauge.used = gauge.scaled(rows.tokens());
  const CompactionPlan plan = plan_compaction(rows, view, request, gauge, settings.budget);
  if (plan.nothing_to_do()) return Error{Code::kInvalid, "nothing to compact"};
  CompactAnswer out;
  AGENTD_TRY(const std::string prompt, who.prompts->compaction_prompt(who.id, {options.instructions}));
  SummaryRequest ask;
  ask.conversation_id = who.id;
  ask.model = runtime_.summary_model(options.model, settings);
  ask.prompt = prompt;
  SummarySource source{rows, plan.split, {}};
  if (!view.empty()) {
    AGENTD_TRY(const Ulid id, Ulid::parse(who.id));
    AGENTD_TRY(source, load_summary_source(runtime_.parts().store, id, rows, sessions_.origins_of(who), plan.split,
                                           runtime_.row_count()));
  }
  ask.messages = source.messages();
  ask.origins = &source.origins;
  ask.max_summary_tokens = target_of(request, gauge, settings.budget).summary_max;
  ask.window = runtime_.model_info(ask.model, settings).window;
  ask.scale = runtime_.factors().of(ask.model, settings.model);
  HookAccount account(runtime_, hook_budget_, caller, who.account);
  Summariser summariser(runtime_.parts(), account, who.cancel, {});
  auto summary = summariser.summarise(ask);
  out.usage = summariser.spent();
  if (summary || out.usage.total() != 0) sessions_.charge(who, caller.plugin_id, out.usage, "summary");
  if (!summary) return summary.error();
  if (summariser.cut() && !account.bounded_by().empty())
    return Error{Code::kDenied, "the summary that " + std::string(caller.plugin_id) + " requested was cut where " +
                                    std::string(account.bounded_by()) + " is spent; raise it"};
  if (summariser.cut()) return Error{Code::kUnavailable, cut_summary_text(ask.max_summary_tokens)};
  out.summary = std::move(*summary);
  out.method = summariser.method();
  out.outcome = AGENTD_RESULT_APPLIED;
  out.pre_tokens = gauge.scaled(plan.summarized_tokens + plan.kept_tokens);
  out.post_tokens = gauge.scaled(runtime_.parts().estimator.count_text(render_summary(out.summary)) + plan.kept_tokens);
  out.kept_first = plan.kept_first;
  out.kept_last = plan.kept_last;
  return out;
}

Result<CompactAnswer> AgentServices::compact(const ServiceCaller& caller, const CompactSource& source,
                                             const CompactOptions& options) {
  if (caller.event == AGENTD_EVENT_BEFORE_COMPACTION) return Error{Code::kBusy, "a compaction is running already"};
  SessionRegistry::Charged who =
      sessions_.charged(source.conversation != 0 ? source.conversation : caller.conversation, caller.cancel);
  const EitherCancel either(who.cancel, caller.cancel, runtime_.parts().clock);
  who.cancel = either.token();
  if (who.compacts) return Error{Code::kBusy, "this run is a compaction already"};
  if (source.conversation == 0) {
    Rows rows(runtime_.row_count());
    for (std::uint32_t i = 0; i < source.messages.count; ++i) rows.append_copy(messages_of(source.messages)[i]);
    AGENTD_TRY_VOID(check_pairs(rows.list(), true));
    return summarise(rows, {}, options, who, caller);
  }
  if (!who.seen) return Error{Code::kNotFound, "no conversation with that handle"};
  Rows rows = who.seen->rows;
  if (source.first != 0 || source.last != 0) {
    Rows part(runtime_.row_count());
    for (const agentd_message& row : rows)
      if (row.seq >= source.first && (source.last == 0 || row.seq <= source.last)) part.append_copy(row);
    rows = std::move(part);
  }
  AGENTD_TRY_VOID(check_pairs(rows.list(), true));
  AGENTD_TRY(const Ulid id, Ulid::parse(who.id));
  AGENTD_TRY(rows, load_originals(runtime_.parts().store, id, rows, rows.size(), runtime_.row_count()));
  AGENTD_TRY(CompactAnswer out, summarise(rows, who.seen->ranges, options, who, caller));
  out.base_revision = who.seen->revision;
  return out;
}

Result<void> AgentServices::request_compaction(const ServiceCaller& caller, std::string_view conversation_id,
                                               const CompactOptions& options) {
  return sessions_.request_compaction(caller.conversation, conversation_id, options);
}

// ---- thread factory

Result<agentd_thread> AgentServices::open_thread(const ServiceCaller& caller, ThreadOptions options) {
  return threads_.open(caller, std::move(options));
}

Result<ThreadReply> AgentServices::send(const ServiceCaller& caller, agentd_thread thread, std::string_view text) {
  return threads_.send(caller, thread, text);
}

Result<Usage> AgentServices::thread_usage(const ServiceCaller& caller, agentd_thread thread) {
  return threads_.usage(caller, thread);
}

Result<void> AgentServices::close_thread(std::string_view plugin_id, agentd_thread thread) {
  return threads_.close(plugin_id, thread);
}

}  // namespace agentd
