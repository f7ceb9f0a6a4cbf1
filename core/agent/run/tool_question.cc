// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/tool_question.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "core/agent/waits.h"
#include "core/base/hash.h"

namespace agentd {
namespace {

// Device and number of a directory: another one under the same name has others.
std::string identity_of(const std::string& directory) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) return {};
  return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
}

// The hooks that decide about tool calls, once each.
std::vector<WaitRecord::AskedHook> deciding_hooks(const Snapshot& snapshot) {
  std::vector<WaitRecord::AskedHook> out;
  for (const std::uint32_t event : {AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_EVENT_PERMISSION_REQUEST}) {
    if (!snapshot.wants(event)) continue;
    for (const Snapshot::Entry& entry : snapshot.entries(event)) {
      const Subscription& hook = snapshot.subscription(entry);
      const std::string config = hook.config_digest.empty() ? "" : ":" + hook.config_digest;
      WaitRecord::AskedHook asked{hook.name, hook.bytes_digest + config};
      const bool known = std::find(out.begin(), out.end(), asked) != out.end();
      if (!known && !hook.observes() && !hook.shadow) out.push_back(std::move(asked));
    }
  }
  return out;
}

}  // namespace

std::string digest_of(const Tool& tool) {
  std::string all;
  for (const std::string& part :
       {tool.name, tool.title, tool.description, tool.input_schema_json, tool.origin, std::to_string(tool.flags)})
    all.append(part).push_back('\0');
  return hex(sha256(all));
}

// ---- asking

Result<std::optional<std::string>, RunError> ToolQuestion::ask(PreparedCall& prepared, bool direct, BatchSoFar batch) {
  const Approver* const approver = session_.base().approver;
  const bool present = approver != nullptr && approver->is_present();
  const bool defers = prepared.question->defers;
  const std::string why_not = why_no_wait();
  if (defers && !why_not.empty()) {
    gate_.take_answer(prepared, {false, false, why_not}, prepared.question->by.hook);
    return std::optional<std::string>();
  }
  const bool waits = defers || prepared.question->anew || session_.options.waits;
  if (!why_not.empty() || (!present && !waits)) {
    answer_now(prepared, nullptr);
    return std::optional<std::string>();
  }
  WaitRecord wait = wait_of(prepared, std::move(batch));
  wait.direct = direct;
  wait.hooks = deciding_hooks(session_.hooks.snapshot());
  auto named = name_wait(session_.base().store, wait.id, wait.conversation_id);
  if (!named) return store_error(named.error());
  if (auto done = commit(wait); !done) return done.error();
  if (present && (!defers || prepared.question->anew) && answer_now(prepared, &wait))
    return std::optional<std::string>();
  session_.hooks.notify(AGENTD_LEVEL_INFO, prepared.tool.name + " waits for your answer: agentd approve " + wait.id);
  session_.surface.tell(told::Waiting{wait.id, wait.call_id, wait.tool, wait.by, wait.reason, wait.until_ms});
  return std::optional<std::string>(std::move(wait.id));
}

// Empty: it can wait.
std::string ToolQuestion::why_no_wait() const {
  if (!session_.options.saves) return "a conversation that is not saved cannot wait for an answer";
  if (run_ != nullptr && !run_->can_wait) return "a run that writes a summary cannot wait for an answer";
  return {};
}

// `wait`: the question as it was recorded; null = it was not. False: it waits on.
bool ToolQuestion::answer_now(PreparedCall& prepared, const WaitRecord* wait) {
  const PreparedCall::Question question = *prepared.question;
  Approver* const approver = session_.base().approver;
  std::string by = "user";
  PermissionAnswer answer;
  if (approver == nullptr) {
    answer.reason = by = "there is no way to ask the user";
  } else {
    session_.hooks.notify(AGENTD_LEVEL_INFO, "agentd needs your permission to use " + prepared.tool.name);
    answer = approver->ask(session_.context_of_calls(), prepared.tool, prepared.call, question.by);
    // The person has left without a word, which is no refusal.
    if (wait != nullptr && !answer.given && !approver->is_present()) return false;
    answer.reason = session_.messages.passed(std::move(answer.reason));
  }
  if (wait != nullptr) {
    const WaitDecision decision = answer.allowed ? WaitDecision::kAllow : WaitDecision::kDeny;
    session_.log.add(write_answer({wait->id, std::string(name_of(decision)), by, "run", answer.reason}));
  }
  gate_.take_answer(prepared, answer, by);
  return true;
}

Result<std::string, RunError> ToolQuestion::wait_for_child(const PreparedCall& prepared,
                                                           const std::string& conversation, const std::string& wait,
                                                           BatchSoFar batch) {
  WaitRecord above = wait_of(prepared, std::move(batch));
  above.child_conversation = conversation;
  above.child_wait = wait;
  if (auto done = commit(above); !done) return done.error();
  return wait;
}

// ---- the record

WaitRecord ToolQuestion::wait_of(const PreparedCall& prepared, BatchSoFar batch) const {
  const AgentParts& base = session_.base();
  const AgentOptions& options = session_.options;
  WaitRecord wait;
  wait.id = base.ids.next().text();
  wait.conversation_id = session_.position.conversation_id;
  wait.call_id = prepared.call.call_id;
  wait.tool = prepared.call.name;
  wait.tool_digest = digest_of(prepared.tool);
  wait.input = prepared.call.input.text();
  if (prepared.question) {
    wait.by = prepared.question->by.hook;
    wait.reason = prepared.question->by.reason;
  }
  wait.until_ms = base.clock.wall_ms() + options.wait_time.count();
  wait.provider = options.provider;
  wait.model = options.model;
  wait.cwd = options.cwd;
  wait.cwd_identity = identity_of(options.cwd);
  wait.roots = options.tools_roots;
  wait.turn = session_.position.turn;
  wait.options = options.client_options;
  wait.no_task = !session_.context.offers_subagents();
  if (run_ != nullptr) {
    wait.recipe = session_.position.recipe;
    wait.recipe_state = run_->recipe_state;
    wait.max_turns = run_->max_turns;
    wait.continuation = run_->continuation;
    wait.spent = session_.shared.account()->spent();
    if (run_->schema) wait.output_schema = run_->schema->json();
  }
  wait.contexts = std::move(batch.contexts);
  wait.unreadable = std::move(batch.unreadable);
  return wait;
}

Result<void, RunError> ToolQuestion::commit(const WaitRecord& wait) {
  session_.log.add(write_wait(wait));
  return session_.log.commit();
}

std::string ToolQuestion::changed_since(const WaitRecord& wait) const {
  if (wait.cwd != session_.options.cwd || wait.roots != session_.options.tools_roots)
    return "it was about " + wait.cwd + ", and this session works elsewhere";
  if (wait.cwd_identity != identity_of(wait.cwd)) return "another directory is at " + wait.cwd;
  const Tool* const tool = session_.context.find_tool(wait.tool);
  if (tool == nullptr || digest_of(*tool) != wait.tool_digest) return "the tool " + wait.tool + " has changed";
  const auto now = deciding_hooks(session_.hooks.snapshot());
  for (const WaitRecord::AskedHook& asked : wait.hooks) {
    if (std::find(now.begin(), now.end(), asked) != now.end()) continue;
    const bool here = std::any_of(now.begin(), now.end(), [&](const auto& hook) { return hook.name == asked.name; });
    return "the hook " + asked.name + (here ? " has changed" : " is gone");
  }
  return {};
}

}  // namespace agentd
