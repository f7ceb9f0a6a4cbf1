// SPDX-License-Identifier: Apache-2.0
// Any order of publishing, pinning, dispatching, cancelling, ending and completing, with hooks that
// do as the input says: what is merged is what was said, nobody is asked who has ended, and a late
// answer changes nothing.
#include <array>
#include <memory>
#include <vector>

#include "core/bridge/token_table.h"
#include "core/hooks/dispatcher.h"
#include "tests/fuzz/target.h"

namespace {

using namespace agentd;

constexpr std::uint32_t kEvents[] = {AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_EVENT_AGENT_STOP,
                                     AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_EVENT_SESSION_END};

class Play;

// One plugin instance; its functions do what the script says.
struct Fake {
  Play* play = nullptr;
  std::shared_ptr<std::atomic<std::uint32_t>> stopped = std::make_shared<std::atomic<std::uint32_t>>(0);
  std::size_t calls = 0;
};

class Play {
 public:
  explicit Play(fuzz::Script script) : script_(script), dispatcher_(clock_), slot_(table_) {
    for (Fake& fake : fakes_) fake.play = this;
    publish();
  }
  void run() {
    for (int steps = 0; steps < 60 && !script_.ended(); ++steps) step();
  }

  agentd_status answer(Fake& fake, const agentd_call& call) {
    fuzz::require(fake.stopped->load() == 0, "nobody is asked who has ended");
    fuzz::require(call.size == sizeof(agentd_call) && call.live != nullptr, "a call is whole");
    ++fake.calls;
    tokens_.push_back(call.token);
    switch (script_.below(8)) {
      case 0:
        return AGENTD_OK;
      case 1:
        return emit(call, AGENTD_ACT_BLOCK);
      case 2:
        return emit(call, AGENTD_ACT_COMPACT);
      case 3:
        return emit(call, static_cast<std::uint32_t>(script_.below(20)));
      case 4:
        return fail(call);
      case 5:
        return complete(call.token), AGENTD_PENDING;
      case 6:
        return use_stale(call), AGENTD_OK;
      case 7:
        fake.stopped->store(1 + script_.below(2));
        return AGENTD_OK;
    }
    return AGENTD_OK;
  }

 private:
  void step() {
    switch (script_.below(8)) {
      case 0:
        return publish();
      case 1:
        pinned_ = dispatcher_.pin();
        return;
      case 2:
        cancel_ = script_.below(2) == 0 ? 0u : AGENTD_CANCEL_USER;
        return;
      case 3:
        fakes_[script_.below(kFakes)].stopped->store(script_.below(3));
        return;
      case 4:
        return complete_old();
      default:
        return fire();
    }
  }

  static agentd_status AGENTD_CALL call_fake(void* self, const agentd_call* call) noexcept {
    auto* const fake = static_cast<Fake*>(self);
    return fake->play->answer(*fake, *call);
  }

  void publish() {
    std::vector<Subscription> rows;
    for (std::uint32_t count = script_.below(6); count > 0; --count) {
      Subscription row;
      const std::uint32_t which = script_.below(kFakes);
      row.event = kEvents[script_.below(4)];
      row.flags = static_cast<std::uint16_t>(script_.below(16));
      row.priority = static_cast<std::int16_t>(script_.byte() - 128);
      row.precedence = static_cast<Precedence>(script_.below(4));
      row.on_failure = script_.below(2) == 0 ? FailurePolicy::kOpen : FailurePolicy::kClosed;
      row.concurrency = script_.below(2) == 0 ? AGENTD_CONCURRENT : AGENTD_SERIAL;
      row.shadow = script_.below(5) == 0;
      row.name = "fake" + std::to_string(which);
      row.plugin = "org.example." + row.name;
      row.fn = &Play::call_fake;
      row.self = &fakes_[which];
      row.stopped = fakes_[which].stopped;
      rows.push_back(std::move(row));
    }
    dispatcher_.publish(std::move(rows),
                        script_.below(3) == 0 ? std::vector<std::string>{"fake1", "*"} : std::vector<std::string>{});
  }

  void fire() {
    const auto snapshot = pinned_ && script_.below(2) == 0 ? pinned_ : dispatcher_.pin();
    agentd_envelope envelope{};
    envelope.size = sizeof(envelope);
    agentd_tool_call payload{};
    payload.size = sizeof(payload);
    Dispatch event;
    event.event = kEvents[script_.below(4)];
    event.envelope = &envelope;
    event.payload = &payload;
    event.rewrite = [](void* context, std::uint32_t, std::string_view) { ++*static_cast<std::size_t*>(context); };
    std::size_t rewrites = 0;
    event.context = &rewrites;
    std::atomic_ref(slot_->live().cancel).store(cancel_);
    const auto outcome = dispatch(*snapshot, *slot_, event);
    std::atomic_ref(slot_->live().cancel).store(0);
    for (agentd_token token : tokens_) {
      fuzz::require(!slot_->emit(token, Action()), "a token ends with its call");
      old_.push_back(token);
    }
    tokens_.clear();
    if (old_.size() > 64) old_.erase(old_.begin(), old_.begin() + 32);
    if (outcome) ++fuzz::got_through;
    if (outcome) check(*outcome, rewrites);
  }

  static void check(const Outcome& outcome, std::size_t rewrites) {
    fuzz::require(outcome.exclusive.size() <= 1, "one answer that excludes the others");
    fuzz::require(outcome.rewrites.size() == rewrites, "every rewrite reached the payload");
    fuzz::require(!outcome.blocked || !outcome.blocked_by.hook.empty(), "who blocks has a name");
    fuzz::require(!outcome.blocked_by_failure || (outcome.blocked && !outcome.failures.empty()),
                  "a guard that broke is told");
    for (const auto& each : outcome.failures) fuzz::require(each.status < 0, "a failure has its status");
  }

  agentd_status emit(const agentd_call& call, std::uint32_t kind) {
    Action action;
    action.kind = kind;
    action.text = "said";
    action.code = kind == AGENTD_ACT_PERMISSION ? 1 + script_.below(3) : 0;
    fuzz::require(slot_->emit(call.token, std::move(action)), "a running call may answer");
    return AGENTD_OK;
  }
  agentd_status fail(const agentd_call& call) {
    fuzz::require(slot_->fail(call.token, AGENTD_E_IO, "why"), "a running call may fail");
    return AGENTD_E_IO;
  }
  // Before it returns, as a plugin's own thread may be faster than the hook.
  void complete(agentd_token token) {
    const agentd_status with = script_.below(2) == 0 ? AGENTD_OK : AGENTD_E_INTERNAL;
    fuzz::require(slot_->complete(token, with), "a running call may be completed");
    fuzz::require(!slot_->complete(token, AGENTD_OK), "and once only");
  }
  void complete_old() {
    for (agentd_token token : old_) fuzz::require(!slot_->complete(token, AGENTD_OK), "a late completion is nothing");
  }
  void use_stale(const agentd_call&) {
    complete_old();
    for (agentd_token token : old_) fuzz::require(!slot_->emit(token, Action()), "a late answer is nothing");
  }

  static constexpr std::uint32_t kFakes = 3;
  fuzz::Script script_;
  ManualClock clock_;
  TokenTable table_;
  Dispatcher dispatcher_;
  SlotLease slot_;
  std::shared_ptr<const Snapshot> pinned_;
  std::array<Fake, kFakes> fakes_;
  std::vector<agentd_token> tokens_, old_;
  std::uint32_t cancel_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Play(fuzz::Script(data, size)).run();
  return 0;
}
