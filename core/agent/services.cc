// SPDX-License-Identifier: Apache-2.0
#include "core/agent/services.h"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/agent/summariser.h"
#include "core/base/bytes.h"
#include "core/base/thrown.h"

namespace agentd {
namespace {

// While it lives its token is cancelled with the session's or with the call's: a call that nobody
// waits for any more, since its worker has ended, asks no model for an answer.
class EitherCancel {
 public:
  EitherCancel(const CancelToken& session, const CancelToken& call) : token_(session.child()) {
    try {
      watch_ = std::thread([this, call] { (void)thrown_by([&] { watch(call); }); });
    } catch (const std::system_error&) {
      // No thread now: the session can still cancel.
    }
  }
  ~EitherCancel() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    if (watch_.joinable()) watch_.join();
  }
  EitherCancel(const EitherCancel&) = delete;
  EitherCancel& operator=(const EitherCancel&) = delete;
  const CancelToken& token() const { return token_; }

 private:
  void watch(const CancelToken& call) {
    std::unique_lock lock(mutex_);
    while (!over_ && !call.cancelled()) changed_.wait_for(lock, Milliseconds(20));
    if (const std::uint32_t reason = call.reason(); reason != 0) token_.cancel(reason);
  }

  const CancelToken token_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::thread watch_;
};

constexpr std::uint64_t kThreadBudgetTokens = 1'000'000;
constexpr Milliseconds kSlice{20};  // how often a cancel is looked at

Error no_conversation(std::string_view id) { return {Code::kNotFound, "there is no conversation " + std::string(id)}; }

}  // namespace

ModelInfo AgentServices::model_info(std::string_view model) const {
  ModelInfo info = parts_.models.find(model);
  if (options_.window_override && model == options_.model) info.window = *options_.window_override;
  return info;
}

std::string AgentServices::real_model(std::string_view name) const {
  return options_.real_model ? options_.real_model(name) : std::string(name);
}

std::string AgentServices::summary_model(std::string_view asked, const AgentOptions& agent) const {
  if (!asked.empty()) return real_model(asked);
  if (!agent.summary_model.empty()) return agent.summary_model;
  const ModelInfo info = parts_.models.find(agent.model);
  const bool same_provider = info.provider.empty() || info.provider == agent.provider;
  if (info.summary_model.empty() || !same_provider) return agent.model;
  // Where the model is asked for by its vendor's name, so is its cheap one.
  const std::string vendor = agent.provider + "/";
  return (agent.model.starts_with(vendor) ? vendor : std::string()) + info.summary_model;
}

Thinking AgentServices::thinking_for(std::string_view model, std::uint64_t max_output_tokens, bool summarises) const {
  const ModelInfo info = parts_.models.find(model);
  return summarises && model != options_.model ? least_thinking(info, max_output_tokens)
                                               : plan_thinking(info, options_.thinking, max_output_tokens);
}

Rows::Count AgentServices::row_count() const {
  const TokenEstimator& estimator = parts_.estimator;
  return [&estimator](const agentd_message& row) { return estimator.count_row(row); };
}

std::shared_ptr<Account> AgentServices::open_account(AccountLimits limits) const {
  return std::make_shared<Account>(AccountParts{parts_.provider, parts_.models, parts_.estimator, parts_.clock,
                                                parts_.log, sleeper(), parts_.ledger, parts_.conversations},
                                   limits, options_.retries_per_run);
}

agentd_conv AgentServices::add_session(SessionImpl* session) {
  const std::lock_guard lock(mutex_);
  sessions_[++last_handle_] = session;
  return last_handle_;
}

void AgentServices::remove_session(agentd_conv handle) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(handle);
}

AgentServices::Charged AgentServices::charged(agentd_conv handle, const CancelToken& otherwise) const {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) return {0, {}, otherwise, std::nullopt, false, nobodys_, nullptr};
  const SessionImpl& session = *found->second;
  return {handle,
          session.conversation_id(),
          session.cancel(),
          session.seen(),
          session.compacts(),
          session.account(),
          session.hook_ledger()};
}

void AgentServices::charge(const Charged& who, std::string_view plugin, const Usage& usage, std::string purpose) const {
  if (who.hook_ledger) who.hook_ledger->count_usage(plugin, usage);
  const std::lock_guard lock(mutex_);
  if (const auto found = sessions_.find(who.conversation); found != sessions_.end())
    found->second->charge(usage, std::move(purpose));
}

Origins AgentServices::origins_of(const Charged& who) const {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(who.conversation);
  return found == sessions_.end() ? Origins() : found->second->origins();
}

// ---- compactor

std::uint64_t AgentServices::corrected(std::string_view model, std::uint64_t estimated) const {
  const double factor = factors_.of(model.empty() ? std::string_view(options_.model) : model);
  return static_cast<std::uint64_t>(static_cast<double>(estimated) * factor + 0.5);
}

std::uint64_t AgentServices::count_text(std::string_view model, std::string_view text) {
  return corrected(real_model(model), parts_.estimator.count_text(text));
}

std::uint64_t AgentServices::count_messages(std::string_view model, const agentd_list& messages) {
  std::uint64_t tokens = 0;
  for (std::uint32_t i = 0; i < messages.count; ++i) tokens += parts_.estimator.count_row(messages_of(messages)[i]);
  return corrected(real_model(model), tokens);
}

Result<std::string> AgentServices::compaction_prompt(const CompactOptions& options) {
  return parts_.prompts.compaction_prompt({}, {options.instructions});
}

Result<CompactAnswer> AgentServices::summarise(const Rows& rows, std::span<const SeqRange> view,
                                               const CompactOptions& options, const Charged& who,
                                               const ServiceCaller& caller) {
  CompactionRequest request;
  request.reason = AGENTD_REASON_HOOK;
  request.phase = AGENTD_PHASE_POST_TURN;
  request.strategy = options.strategy;
  request.keep_tokens = options.keep_tokens;
  request.max_summary_tokens = options.max_summary_tokens != 0 ? options.max_summary_tokens
                                                               : static_cast<std::uint32_t>(options_.summary_tokens);
  const ModelInfo info = model_info(options_.model);
  Gauge gauge = make_gauge(options_.budget, info.window, info.max_output, 0, 0);
  gauge.scale = factors_.of(options_.model);
  gauge.used = gauge.scaled(rows.tokens());
  const CompactionPlan plan = plan_compaction(rows, view, request, gauge, options_.budget);
  if (plan.nothing_to_do()) return Error{Code::kInvalid, "there is nothing to compact"};
  CompactAnswer out;
  AGENTD_TRY(const std::string prompt, parts_.prompts.compaction_prompt(who.id, {options.instructions}));
  SummaryRequest ask;
  ask.conversation_id = who.id;
  ask.model = summary_model(options.model);
  ask.prompt = prompt;
  SummarySource source{rows, plan.split, {}};
  if (!view.empty()) {
    AGENTD_TRY(const Ulid id, Ulid::parse(who.id));
    AGENTD_TRY(source, load_summary_source(parts_.store, id, rows, origins_of(who), plan.split, row_count()));
  }
  ask.messages = source.messages();
  ask.origins = &source.origins;
  ask.max_summary_tokens = target_of(request, gauge, options_.budget).summary_max;
  ask.window = model_info(ask.model).window;
  ask.scale = factors_.of(ask.model, options_.model);
  AGENTD_TRY(HookBudget::Hold budget, hook_budget_.hold(caller, who.account, corrected(ask.model, rows.tokens())));
  Summariser summariser(parts_, *who.account, who.cancel, {});
  auto summary = summariser.summarise(ask);
  out.usage = summariser.spent();
  budget.took(out.usage.total());
  charge(who, caller.plugin_id, out.usage, "summary");
  if (!summary) return summary.error();
  if (summariser.cut()) return Error{Code::kUnavailable, cut_summary_text(ask.max_summary_tokens)};
  out.summary = std::move(*summary);
  out.method = summariser.method();
  out.outcome = AGENTD_RESULT_APPLIED;
  out.pre_tokens = gauge.scaled(plan.summarized_tokens + plan.kept_tokens);
  out.post_tokens = gauge.scaled(parts_.estimator.count_text(render_summary(out.summary)) + plan.kept_tokens);
  out.kept_first = plan.kept_first;
  out.kept_last = plan.kept_last;
  return out;
}

Result<CompactAnswer> AgentServices::compact(const ServiceCaller& caller, const CompactSource& source,
                                             const CompactOptions& options) {
  if (caller.event == AGENTD_EVENT_BEFORE_COMPACTION) return Error{Code::kBusy, "a compaction is running already"};
  Charged who = charged(source.conversation != 0 ? source.conversation : caller.conversation, caller.cancel);
  const EitherCancel either(who.cancel, caller.cancel);
  who.cancel = either.token();
  if (who.compacts) return Error{Code::kBusy, "this run is a compaction already"};
  if (source.conversation == 0) {
    Rows rows(row_count());
    for (std::uint32_t i = 0; i < source.messages.count; ++i) rows.append_copy(messages_of(source.messages)[i]);
    AGENTD_TRY_VOID(check_pairs(rows.list(), true));
    return summarise(rows, {}, options, who, caller);
  }
  if (!who.seen) return Error{Code::kNotFound, "there is no conversation with that handle"};
  Rows rows = who.seen->rows;
  if (source.first != 0 || source.last != 0) {
    Rows part(row_count());
    for (const agentd_message& row : rows)
      if (row.seq >= source.first && (source.last == 0 || row.seq <= source.last)) part.append_copy(row);
    rows = std::move(part);
  }
  AGENTD_TRY_VOID(check_pairs(rows.list(), true));
  AGENTD_TRY(const Ulid id, Ulid::parse(who.id));
  AGENTD_TRY(rows, load_originals(parts_.store, id, rows, rows.size(), row_count()));
  AGENTD_TRY(CompactAnswer out, summarise(rows, who.seen->ranges, options, who, caller));
  out.base_revision = who.seen->revision;
  return out;
}

Result<void> AgentServices::request_compaction(const ServiceCaller& caller, std::string_view conversation_id,
                                               const CompactOptions& options) {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, open] : sessions_) {
    const bool meant =
        conversation_id.empty() ? handle == caller.conversation : open->conversation_id() == conversation_id;
    if (!meant) continue;
    if (!open->queue_compaction(options))
      parts_.log.write(LogLevel::kInfo, "hooks",
                       "a compaction of conversation " + open->conversation_id() +
                           " was asked for between two runs; the next one begins with it");
    return {};
  }
  return Error{Code::kUnavailable, "conversation " + std::string(conversation_id) +
                                       " is not open in this process: use agentd compact -c ID"};
}

// ---- thread factory

constexpr std::ptrdiff_t kThreadsMax = 64;  // open at once, of one plugin

Result<agentd_thread> AgentServices::open_thread(const ServiceCaller& caller, ThreadOptions options) {
  auto thread = std::make_shared<Thread>();
  thread->plugin_id = caller.plugin_id;
  thread->history = Rows(row_count());
  for (const Message& message : options.history) thread->history.append(message, 0, 0);
  if (options.budget_tokens == 0) options.budget_tokens = kThreadBudgetTokens;
  if (options.charge_to == 0) options.charge_to = caller.conversation;
  options.model = options.model.empty() ? options_.model : real_model(options.model);
  thread->options = std::move(options);
  const std::lock_guard lock(mutex_);
  const auto mine = std::count_if(threads_.begin(), threads_.end(),
                                  [&](const auto& each) { return each.second->plugin_id == caller.plugin_id; });
  if (mine >= kThreadsMax)
    return Error{Code::kUnavailable, std::string(caller.plugin_id) + " has " + std::to_string(mine) +
                                         " threads open, and may have no more: close one first"};
  if (const auto found = sessions_.find(caller.conversation); found != sessions_.end())
    found->second->hook_ledger()->count_thread(caller.plugin_id);
  const agentd_thread handle = (++last_handle_ << 32) | 1;
  threads_[handle] = std::move(thread);
  return handle;
}

Result<std::shared_ptr<AgentServices::Thread>> AgentServices::find_thread(std::string_view plugin_id,
                                                                          agentd_thread handle) {
  const std::lock_guard lock(mutex_);
  const auto found = threads_.find(handle);
  if (found == threads_.end() || found->second->plugin_id != plugin_id)
    return Error{Code::kNotFound, "there is no open thread with that handle"};
  return found->second;
}

Result<ThreadReply> AgentServices::send(const ServiceCaller& caller, agentd_thread handle, std::string_view text) {
  AGENTD_TRY(const std::shared_ptr<Thread> thread, find_thread(caller.plugin_id, handle));
  // Another of the plugin's threads may wait for an answer in it, for as long as the model takes.
  while (!thread->talking.try_lock_for(kSlice))
    if (caller.cancel.cancelled())
      return Error{Code::kCancelled, "the call was cancelled while another request of the thread was under way"};
  const std::lock_guard talking(thread->talking, std::adopt_lock);
  const ThreadOptions& options = thread->options;
  Rows rows = thread->history;
  rows.append(Message::of_text(Role::kUser, to_utf8(text)), 0, parts_.clock.wall_ms());
  const Usage before = thread->spent();
  const std::uint64_t spent = before.total();
  const std::uint64_t next = corrected(options.model, rows.tokens());
  if (spent >= options.budget_tokens || next > options.budget_tokens - spent)
    return Error{Code::kDenied, "the thread has spent " + with_commas(spent) + " of its budget of " +
                                    with_commas(options.budget_tokens) + " tokens, and the next request takes about " +
                                    with_commas(next)};
  UtilityRequest ask;
  ask.model = options.model;
  ask.system = options.system;
  ask.purpose = "thread";
  ask.messages = {rows.begin(), rows.size()};
  ask.max_output_tokens = options.max_tokens;
  ask.prompt_tokens = next;
  const Charged who = charged(options.charge_to, caller.cancel);
  ask.conversation_id = who.id;
  const EitherCancel either(who.cancel, caller.cancel);
  AGENTD_TRY(HookBudget::Hold budget, hook_budget_.hold(caller, who.account, next));
  AGENTD_TRY(ModelResponse answer, ask_utility(parts_, *who.account, ask, either.token()));
  ThreadReply out{answer.stop_reason, std::move(answer.message), Usage{}};
  out.usage = answer.spent;
  budget.took(out.usage.total());
  rows.append(out.message, 0, parts_.clock.wall_ms());
  thread->history = std::move(rows);
  thread->spend(out.usage);
  charge(who, caller.plugin_id, out.usage, "thread");
  return out;
}

Result<Usage> AgentServices::thread_usage(const ServiceCaller& caller, agentd_thread handle) {
  AGENTD_TRY(const std::shared_ptr<Thread> thread, find_thread(caller.plugin_id, handle));
  return thread->spent();
}

Result<void> AgentServices::close_thread(std::string_view plugin_id, agentd_thread handle) {
  AGENTD_TRY(const std::shared_ptr<Thread> thread, find_thread(plugin_id, handle));
  const std::lock_guard lock(mutex_);
  threads_.erase(handle);
  return {};
}

// ---- store

Result<PluginKey> AgentServices::get(const ServiceCaller& caller, std::string_view key) {
  AGENTD_TRY(StoredKey found, parts_.store.get_key(caller.plugin_id, key));
  return PluginKey{std::move(found.key), std::move(found.value), found.version};
}

Result<std::vector<PluginKey>> AgentServices::scan(const ServiceCaller& caller, std::string_view prefix,
                                                   std::string_view after, std::uint32_t limit) {
  AGENTD_TRY(std::vector<StoredKey> found, parts_.store.scan_keys(caller.plugin_id, prefix, after, limit));
  std::vector<PluginKey> out;
  for (StoredKey& key : found) out.push_back({std::move(key.key), std::move(key.value), key.version});
  return out;
}

Result<std::uint64_t> AgentServices::commit(const ServiceCaller& caller, std::span<const PluginKeyOp> ops) {
  std::vector<KeyOp> wanted;
  for (const PluginKeyOp& op : ops) {
    const KeyOp::Kind kind = op.kind == AGENTD_KV_PUT     ? KeyOp::Kind::kPut
                             : op.kind == AGENTD_KV_ERASE ? KeyOp::Kind::kErase
                                                          : KeyOp::Kind::kCheck;
    wanted.push_back({kind, op.key, op.value, op.expect});
  }
  return parts_.store.commit_keys(caller.plugin_id, wanted);
}

Result<std::vector<ConversationInfo>> AgentServices::conversations(const agentd_conv_query& query) {
  ConversationQuery wanted;
  wanted.project_id = std::string(view_of(query.project_id));
  wanted.text = std::string(view_of(query.text));
  wanted.after = std::string(view_of(query.after));
  wanted.since_ms = query.since_ms;
  wanted.until_ms = query.until_ms;
  if (query.limit != 0) wanted.limit = query.limit;
  return parts_.store.list(wanted);
}

Result<Rows> AgentServices::messages(std::string_view conversation_id, std::uint32_t scope, std::uint64_t at,
                                     std::uint64_t from, std::uint32_t limit) {
  AGENTD_TRY(const Ulid id, Ulid::parse(conversation_id));
  if (scope == AGENTD_SCOPE_LOG) return load_log_messages(parts_.store, id, at, from, limit);
  AGENTD_TRY(const auto conversation, at == 0 ? load_conversation(parts_.store, id, row_count())
                                              : load_conversation_at(parts_.store, id, at, row_count()));
  Rows out(row_count());
  for (const agentd_message& row : conversation->rows()) {
    if (row.seq < from) continue;
    if (out.size() >= limit) break;
    out.append_copy(row);
  }
  return out;
}

Result<std::string> AgentServices::read_blob(std::string_view blob, std::uint64_t offset, std::uint64_t limit) {
  const std::size_t first = blob.find(':');
  const std::size_t second = first == std::string_view::npos ? first : blob.find(':', first + 1);
  std::uint64_t seq = 0;
  std::size_t block = 0;
  if (second == std::string_view::npos ||
      std::from_chars(blob.data() + first + 1, blob.data() + second, seq).ec != std::errc() ||
      std::from_chars(blob.data() + second + 1, blob.data() + blob.size(), block).ec != std::errc())
    return Error{Code::kInvalid, "'" + std::string(blob.substr(0, 64)) + "' is no blob of a message"};
  AGENTD_TRY(const Ulid id, Ulid::parse(blob.substr(0, first)));
  AGENTD_TRY(const Rows rows, load_log_messages(parts_.store, id, seq, seq, 1));
  if (rows.empty() || rows[0].seq != seq || block >= rows[0].blocks.count) return no_conversation(blob);
  const std::string_view text = full_text(blocks_of(rows[0])[block]);
  if (offset >= text.size()) return std::string();
  return std::string(text.substr(offset, limit == 0 ? text.size() : limit));
}

Result<std::vector<ConversationInfo>> AgentServices::changes(std::uint64_t cursor, std::uint32_t limit,
                                                             std::uint64_t* next) {
  AGENTD_TRY(Store::Changes found, parts_.store.changes(cursor, limit));
  *next = found.next;
  return std::move(found.changed);
}

// ---- the agent

namespace {

RunError open_error(const Error& error) {
  if (error.code == Code::kBusy) return {RunError::Kind::kBusy, error.message};
  if (error.code == Code::kNotFound) return {RunError::Kind::kNotFound, error.message};
  return store_error(error);
}

class AgentImpl final : public Agent {
 public:
  explicit AgentImpl(AgentServices& services) : services_(services) {}

  Result<std::unique_ptr<Session>, RunError> open(std::optional<Ulid> wanted, const CancelToken& cancel) override {
    return open_as(wanted, AGENTD_SOURCE_STARTUP, cancel);
  }

  Result<std::unique_ptr<Session>, RunError> clear(Session& session, const CancelToken& cancel) override {
    auto& old = static_cast<SessionImpl&>(session);  // an agent makes no other kind
    if (auto asked = old.before_clear(kClearReason, cancel); !asked) return asked.error();
    old.end("clear");
    auto opened = open_as(std::nullopt, AGENTD_SOURCE_CLEAR, cancel);
    if (opened) old.after_clear(kClearReason, (*opened)->conversation_id(), cancel);
    return opened;
  }

 private:
  static constexpr std::string_view kClearReason = "user";

  Result<std::unique_ptr<Session>, RunError> open_as(std::optional<Ulid> wanted, std::uint32_t source,
                                                     const CancelToken& cancel) {
    const AgentParts& parts = services_.parts();
    const Ulid id = wanted ? *wanted : parts.ids.next();
    if (wanted) {
      const auto info = parts.store.info(id);
      if (!info) return open_error(info.error());
      source = is_fresh_fork(*info) ? AGENTD_SOURCE_FORK : AGENTD_SOURCE_RESUME;
    }
    auto lease = parts.store.lease(id);
    if (!lease) return open_error(lease.error());
    auto conversation = std::make_unique<Conversation>(id.text(), services_.row_count());
    if (wanted) {
      auto loaded = load_conversation(parts.store, id, services_.row_count());
      if (!loaded) return open_error(loaded.error());
      conversation = std::move(*loaded);
    }
    SessionSeed seed{id, std::move(*lease), std::move(conversation)};
    seed.source = source;
    auto session = std::make_unique<SessionImpl>(services_, std::move(seed));
    session->start(cancel);
    return std::unique_ptr<Session>(std::move(session));
  }

  AgentServices& services_;
};

}  // namespace

void DeleteServices::operator()(AgentServices* services) const { delete services; }

AgentServicesPtr make_services(AgentParts parts, AgentOptions options) {
  return AgentServicesPtr(new AgentServices(std::move(parts), std::move(options)));
}

Services& as_services(AgentServices& services) { return services; }

std::unique_ptr<Agent> make_agent(AgentServices& services) { return std::make_unique<AgentImpl>(services); }

}  // namespace agentd
