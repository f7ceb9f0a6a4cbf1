// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_point.h - where a session asks its hooks: the hooks of the turn, the envelope of each event, what is told and
// recorded of the answers, and whether one of them has ended the run. Private to this room.
//
// Threading: the session's thread; never inside a dispatch.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/agent/session/context.h"
#include "core/agent/session/firing.h"
#include "core/agent/session/log_writer.h"

namespace agentd {

// The user has ended the run.
RunError interrupted();

class HookPoint {
 public:
  // All outlive it.
  HookPoint(const AgentResources& agent, const AgentOptions& options, const Position& position,
            const SharedSession& shared, const Surface& surface, LogWriter& log, const Context& context);

  // ---- which hooks

#ifdef AGENTD_NO_HOOKS  // a test's build without hooks: what it does not do must not be missed
  bool wants(std::uint32_t) const { return false; }
#else
  bool wants(std::uint32_t event) const { return snapshot_->wants(event); }
#endif
  const Snapshot& snapshot() const { return *snapshot_; }
  // A hook may rewrite answers of the model, so nothing of one is shown before it has spoken.
  bool redacts_answers() const { return snapshot_->redacts(AGENTD_EVENT_AFTER_MODEL_CALL); }
  // A hook of tool calls sees them one after the other.
  bool sees_calls_apart() const;
  // The slot of all calls during its lifetime, whose cancel word follows a CancelBinding. Outside of it each event
  // borrows its own.
  class SlotUse {
   public:
    explicit SlotUse(HookPoint& hooks) : hooks_(hooks) { hooks_.slot_.emplace(hooks_.parts_.slots); }
    ~SlotUse() { hooks_.slot_.reset(); }
    SlotUse(const SlotUse&) = delete;
    SlotUse& operator=(const SlotUse&) = delete;
    CallSlot& operator*() const { return **hooks_.slot_; }

   private:
    HookPoint& hooks_;
  };
  // Pins the current hooks for the run or turn that begins; they stay the same until it ends.
  void renew();
  // Later events are outside every run and turn, and use the current hooks.
  void leave_run();
  // No hook has ended what comes.
  void end_run() { stopped_.reset(); }

  // ---- asking

  // Null: no hook was called. Actions that the event does not allow were removed from the outcome and reported, and its
  // texts for the model, the user and the log hold no secrets.
  std::unique_ptr<Outcome> fire(const Fired& fired);
  std::unique_ptr<Outcome> fire(std::uint32_t event, const void* payload, const void* bare = nullptr);
  // A warning of the runtime: to the surface, and as a notification to the hooks.
  void warn(std::string_view text);
  void notify(std::uint32_t level, std::string_view text);
  // To the hooks alone; the other one tells the surface, too.
  void fire_error(std::string_view code, std::string_view message, std::string_view phase, bool retryable);
  void notify_error(std::string_view code, std::string_view message, std::string_view phase, bool retryable);

  // ---- the end of the run

  // The hook that ended this run, with its reason: reported once; nothing of the run happens afterwards.
  const std::optional<Outcome::Attributed>& stopped() const { return stopped_; }
  // "the run was stopped by HOOK: reason"; REQUIRES: stopped().
  std::string stop_text() const;
  // kStopped once a hook has ended the run, kCancelled once the user has: asked after every event of a run.
  Result<void, RunError> check_stopped() const;
  // The error of a run that a hook has blocked. A guard that an interrupt cut short fails closed as well, but
  // then the user has ended the run: kCancelled.
  RunError refused(std::string text) const;

  // ---- what came of an answer

  // A record of what the hook did, with digests of the texts; empty = there is none.
  void record_effect(std::uint32_t event, const Outcome::By& by, HookEffect effect, std::string_view before,
                     std::string_view after, std::string_view reason);
  // The receipt of a hook's answer says that it was not carried out, and why.
  void refute(std::string_view hook, std::uint32_t event, std::string_view why);
  // The same, and the surface is notified.
  void report_refusal(std::string_view hook, std::uint32_t event, std::string_view why);

 private:
  agentd_envelope envelope_of(const Fired& fired, const std::string& event_id, const agentd_gauge& gauge) const;
  HookReceipt receipt_of(std::uint32_t event, std::string event_id) const;
  Firing::Frame frame_of(std::uint32_t event, const std::string& event_id) const;
  Dispatch dispatch_of(const Fired& fired) const;
  void take(const Fired& fired, Firing& firing, Outcome* outcome);
  void pass_border(Outcome& outcome) const;
  void tell_hook(const HookTrace& trace) const;
  void report(const Outcome& outcome, std::uint32_t event) const;
  void report_problem(std::uint32_t event, const Firing::Problem& problem);

  const AgentParts& parts_;
  const bool scrubs_messages_;
  const AgentOptions& options_;
  const Position& position_;
  const SharedSession& shared_;
  const Surface& surface_;
  LogWriter& log_;
  const Context& context_;
  std::optional<SlotLease> slot_;
  std::shared_ptr<const Snapshot> snapshot_;  // pinned for a turn
  std::set<std::string> told_problems_;       // of hooks, reported once each
  std::optional<Outcome::Attributed> stopped_;
};

}  // namespace agentd
