// SPDX-License-Identifier: Apache-2.0
#pragma once
// firing.h - one event on its way through its hooks: what they said becomes receipts, what they may
// not say becomes a warning. Private to this room.
//
// Threading: the session's own thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/hook_ledger.h"
#include "core/agent/receipts.h"
#include "core/conversation/receipt.h"
#include "core/hooks/dispatcher.h"

namespace agentd {

// "agent_stop", ...; "?" = there is no such event.
std::string_view event_name(std::uint32_t event);

// An event to fire.
struct Fired {
  std::uint32_t event = 0;
  const void* payload = nullptr;
  const void* bare = nullptr;  // the same without messages; null = payload
  void (*rewrite)(void* context, std::uint32_t target, std::string_view text) = nullptr;
  Result<std::string> (*admit)(void* context, std::string_view text) = nullptr;
  void (*withdraw)(void* context) = nullptr;
  void* context = nullptr;
  std::uint32_t attempt = 1;
  std::uint16_t only = 0;     // as that of Dispatch; 0 = all hooks
  std::string_view except{};  // as that of Dispatch
};

class Firing final : public TraceSink {
 public:
  // The session's part of every receipt: event id, revision, run, turn, time.
  struct Frame {
    const Snapshot& snapshot;
    HookReceipt receipt{};
    bool all = false;                                             // a receipt for each hook, whatever it said
    std::function<std::string(std::string_view hook)> kind_of{};  // empty = a guess
    std::function<void(const HookTrace&)> tell{};                 // each call, while it happens; may be empty
    std::shared_ptr<HookLedger> ledger{};                         // of the run; null outside of runs
    const Secrets* secrets = nullptr;                             // that answers must not hold
    bool scrubs_messages = false;                                 // nor what takes the place of a user's message
  };
  struct Problem {
    std::string hook, text;
    bool logged = false;     // by the code that found it
    bool may_quote = false;  // the event's text
  };

  Firing(const Fired& fired, CallSlot& slot, Frame frame) : fired_(fired), slot_(slot), frame_(std::move(frame)) {}

  // For Dispatch::rewrite and its context: the hook's own view of the payload is kept first.
  static void rewrite(void* me, std::uint32_t target, std::string_view text);
  static Result<std::string> admit(void* me, std::string_view text);
  static void withdraw(void* me);
  // For Dispatch::refusal and its context: the hook's limits in this run.
  static std::string refusal(void* me, const Subscription& hook);
  void on_hook(const HookTrace& trace) override;

  // ---- after the dispatch

  // Where hooks removed the event's text, the words of failed hooks that may quote it are taken out of the outcome, and
  // of what the following functions return.
  void leave_out_quotes(Outcome* outcome);
  // The receipts, with the payloads that may be kept.
  std::vector<HookReceipt> take_receipts(const Outcome* outcome);
  const std::vector<Problem>& problems() const { return problems_; }
  // Lines for the log.
  const std::vector<std::string>& log() const { return log_; }

 private:
  struct Seen {
    HookReceipt receipt;
    std::shared_ptr<const std::string> payload;
    unsigned version = 0;                   // of the payload: counts rewrites
    std::string reasons{};                  // the answer of a message that is refused
    std::optional<std::string> own_note{};  // where the hook's words may quote a text that was removed
  };
  bool observes(const HookTrace& trace) const;
  bool may_quote(const HookTrace& trace) const;
  bool is_refused(const Outcome* outcome) const;
  const Snapshot::Entry* entry_of(const HookTrace& trace) const;
  std::string kind_of(const HookTrace& trace) const;
  std::string clean(std::string text) const;
  void find_problems(const HookTrace& trace);
  void keep(const HookTrace& trace);
  std::string answer_of(const HookTrace& trace, AnswerTexts texts) const;
  const Digest& digest_of(const std::shared_ptr<const std::string>& text);

  const Fired fired_;
  CallSlot& slot_;
  const Frame frame_;
  std::vector<Seen> seen_;
  std::vector<Problem> problems_;
  std::vector<std::string> log_, quoting_log_;
  // The payload of the hook that is rewriting.
  std::shared_ptr<const std::string> before_rewrite_;
  unsigned version_ = 0, version_before_ = 0;
  bool answered_ = false;
  std::shared_ptr<const std::string> digested_;
  Digest digest_{};
};

// Takes out what is not legal for the event, so that it has no effect whoever emitted it.
void drop_illegal(Outcome& outcome, std::uint32_t event);

}  // namespace agentd
