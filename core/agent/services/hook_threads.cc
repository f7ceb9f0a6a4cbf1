// SPDX-License-Identifier: Apache-2.0
#include "core/agent/services/hook_threads.h"

#include <algorithm>
#include <utility>

#include "core/agent/services/either_cancel.h"
#include "core/agent/services/hook_account.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"
#include "core/base/saturating.h"
#include "core/base/thread.h"

namespace agentd {
namespace {

constexpr std::uint64_t kThreadBudgetTokens = 1'000'000;
constexpr Milliseconds kSlice{20};          // how often a cancel is looked at
constexpr std::ptrdiff_t kThreadsMax = 64;  // open at once, of one plugin

}  // namespace

Result<agentd_thread> HookThreads::open(const ServiceCaller& caller, ThreadOptions options) {
  Rows history(runtime_.row_count());
  for (const Message& message : options.history) history.append(message, 0, 0);
  auto thread = std::make_shared<Thread>(std::move(history));
  thread->plugin_id = caller.plugin_id;
  if (options.budget_tokens == 0) options.budget_tokens = kThreadBudgetTokens;
  if (options.charge_to == 0) options.charge_to = caller.conversation;
  options.model = options.model.empty() ? sessions_.model_of(caller.conversation) : runtime_.real_model(options.model);
  thread->options = std::move(options);
  const MutexLock lock(mutex_);
  const auto mine = std::count_if(threads_.begin(), threads_.end(),
                                  [&](const auto& each) { return each.second->plugin_id == caller.plugin_id; });
  if (mine >= kThreadsMax)
    return Error{Code::kUnavailable, std::string(caller.plugin_id) + " has " + std::to_string(mine) +
                                         " open threads, the limit: close one first"};
  sessions_.count_thread(caller.conversation, caller.plugin_id);
  const agentd_thread handle = (++last_handle_ << 32) | 1;
  threads_[handle] = std::move(thread);
  return handle;
}

Result<std::shared_ptr<HookThreads::Thread>> HookThreads::find(std::string_view plugin_id, agentd_thread handle) const {
  const MutexLock lock(mutex_);
  const auto found = threads_.find(handle);
  if (found == threads_.end() || found->second->plugin_id != plugin_id)
    return Error{Code::kNotFound, "no open thread with that handle"};
  return found->second;
}

Result<ThreadReply> HookThreads::send(const ServiceCaller& caller, agentd_thread handle, std::string_view text) {
  AGENTD_TRY(const std::shared_ptr<Thread> thread, find(caller.plugin_id, handle));
  // Another of the plugin's threads may wait for an answer in it, for as long as the model takes.
  while (!thread->talking.lock_for(runtime_.parts().clock, kSlice))
    if (caller.cancel.cancelled())
      return Error{Code::kCancelled, "the call was cancelled while another request of the thread was running"};
  const MutexLock talking(thread->talking, kAdopt);
  const ThreadOptions& options = thread->options;
  const RuntimeParts& parts = runtime_.parts();
  Rows rows = thread->history;
  rows.append(Message::of_text(Role::kUser, to_utf8(text)), 0, parts.clock.wall_ms());
  const std::uint64_t spent = thread->spent().total();
  const std::uint64_t next =
      runtime_.corrected(options.model, saturating_add(rows.tokens(), parts.estimator.count_text(options.system)));
  const std::uint64_t left = saturating_subtract(options.budget_tokens, spent);
  if (left <= next)
    return Error{Code::kDenied, "the thread has spent " + with_commas(spent) + " of its budget of " +
                                    with_commas(options.budget_tokens) + " tokens, and the next request takes about " +
                                    with_commas(next) + " before its answer"};
  UtilityRequest ask;
  ask.model = options.model;
  ask.system = options.system;
  ask.purpose = "thread";
  ask.messages = {rows.begin(), rows.size()};
  ask.max_output_tokens = options.max_tokens;
  ask.answer_tokens_max = left - next;
  ask.prompt_tokens = next;
  const SessionRegistry::Charged who = sessions_.charged(options.charge_to, caller.cancel);
  ask.conversation_id = who.id;
  const EitherCancel either(who.cancel, caller.cancel, runtime_.parts().clock);
  HookAccount account(runtime_, budget_, caller, who.account);
  AGENTD_TRY(ModelResponse answer, ask_utility(parts, account, ask, either.token()));
  ThreadReply out{answer.stop_reason, std::move(answer.message), Usage{}};
  out.usage = answer.spent;
  rows.append(out.message, 0, parts.clock.wall_ms());
  thread->history = std::move(rows);
  thread->spend(out.usage);
  sessions_.charge(who, caller.plugin_id, out.usage, "thread");
  return out;
}

Result<Usage> HookThreads::usage(const ServiceCaller& caller, agentd_thread handle) const {
  AGENTD_TRY(const std::shared_ptr<Thread> thread, find(caller.plugin_id, handle));
  return thread->spent();
}

Result<void> HookThreads::close(std::string_view plugin_id, agentd_thread handle) {
  AGENTD_TRY(const std::shared_ptr<Thread> thread, find(plugin_id, handle));
  const MutexLock lock(mutex_);
  threads_.erase(handle);
  return {};
}

}  // namespace agentd
