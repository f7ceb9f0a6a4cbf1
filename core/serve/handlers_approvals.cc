// SPDX-License-Identifier: Apache-2.0
// handlers_approvals.cc - questions that wait for a person, and their answers.
#include "core/agent/waits.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/serve/handlers.h"

namespace agentd::serve {
namespace {

constexpr std::size_t kReasonBytesMax = 2'000;
constexpr Milliseconds kRunEndTime{3'000}, kRunEndStep{10};

void write_wait(JsonWriter& out, const WaitingCall& waiting) {
  const WaitRecord& wait = waiting.open.wait;
  out.begin_object().member("wait_id", wait.id).member("conversation_id", waiting.root.text());
  if (waiting.root != waiting.conversation) out.member("agent_id", waiting.conversation.text());
  out.member("call_id", wait.call_id).member("name", wait.tool).key("input").raw(wait.input);
  out.optional("hook", wait.by).optional("reason", wait.reason);
  out.member("cwd", wait.cwd).member("until_ms", wait.until_ms);
  if (waiting.open.answer) out.member("answer", waiting.open.answer->decision);
  out.end_object();
}

// A question can be seen before the run that has asked it is over, which takes a moment.
Result<void, RunError> keep_answer(Daemon& daemon, const WaitingCall& waiting, const GivenAnswer& answer) {
  const Clock& clock = daemon.runtime().clock();
  const Deadline patience = Deadline::after(clock, kRunEndTime);
  for (;;) {
    auto kept = answer_wait(daemon.store(), clock, waiting, answer);
    if (kept || kept.error().kind != RunError::Kind::kBusy || patience.passed(clock)) return kept;
    const auto live = daemon.sessions().find(waiting.root.text());
    if (live && live->is_lent())
      return RunError{RunError::Kind::kBlocked,
                      "a command works in the conversation of this question, which is answered at its terminal"};
    if (!live || live->state() != LiveSession::State::kActive) return kept;
    clock.pause(kRunEndStep);
  }
}

}  // namespace

void list_approvals(Daemon& daemon, RouteCall call) {
  const auto waits = list_waits(daemon.store(), daemon.runtime().clock().wall_ms());
  if (!waits) return reply_error(call, waits.error());
  JsonWriter out;
  out.begin_object().key("approvals").begin_array();
  for (const WaitingCall& each : *waits) write_wait(out, each);
  out.end_array().end_object();
  reply_json(call, 200, out.text());
}

// The answer is durable before the run goes on, whatever becomes of that.
void answer_approval(Daemon& daemon, RouteCall call) {
  const std::string_view decision = call.json("decision").string_or("");
  // One answer at a time: another one would hold the conversation while the first carries it on.
  MutexLock lock(daemon.answering());
  const auto found = find_wait(daemon.store(), call.at("id"));
  if (!found) return reply_error(call, found.error());
  const bool allows = decision == "allow";
  const std::string reason = one_line(call.json("reason").string_or(""), kReasonBytesMax);
  GivenAnswer answer{allows ? WaitDecision::kAllow : WaitDecision::kDeny, call.who.name, "http",
                     allows ? reason : "the user said no" + (reason.empty() ? "" : ": " + reason)};
  if (const auto live = daemon.sessions().find(found->root.text()))
    if (auto why = live->refusal_of(by_of(call))) return reply_error(call, *why);
  if (auto kept = keep_answer(daemon, *found, answer); !kept) return reply_error(call, kept.error());
  lock.unlock();
  const auto session = daemon.sessions().at(found->root);
  if (!session) return reply_error(call, session.error());
  (*session)->carry_on(by_of(call), [call, id = found->open.wait.id, root = found->root.text(),
                                     allows](const Result<void, RunError>& queued) {
    JsonWriter out;
    out.begin_object().member("wait_id", id).member("conversation_id", root);
    out.member("decision", allows ? "allow" : "deny").member("goes_on", queued.has_value());
    if (!queued) out.member("why_not", queued.error().message);
    out.end_object();
    reply_json(call, 200, out.text());
  });
}

}  // namespace agentd::serve
