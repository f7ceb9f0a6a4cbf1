// SPDX-License-Identifier: Apache-2.0
// A hook that cannot be asked since agentd fails to make its payload.
#include "core/external/external_hooks.h"

#include <gtest/gtest.h>

#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

// An input so deep that no reader takes the payload around it. Calls never have one; whatever else
// agentd may fail to write one day is met alike.
std::string too_deep() { return "{\"a\":" + std::string(998, '[') + std::string(998, ']') + "}"; }

class Unreadable : public ::testing::Test {
 protected:
  std::unique_ptr<Outcome> ask(std::uint32_t event, const std::string& input, bool observes) {
    ExternalHooks hooks({tokens_, services_, clock_, log_, {}, {}, {}, {}, {}, {}, {}, {}});
    HookDefinition hook;
    hook.name = "guard";
    hook.event = event;
    hook.runs = HookRuns::kAction;
    hook.action_json = "{}";
    hook.on_failure = FailurePolicy::kOpen;
    hook.observes = observes;
    hooks.add(hook, {});
    dispatcher_.publish(hooks.subscriptions());
    agentd_tool_call payload{};
    payload.size = sizeof(payload);
    payload.name = to_abi("bash");
    payload.input_json = to_abi(input);
    agentd_envelope envelope{};
    envelope.size = sizeof(envelope);
    Dispatch dispatched;
    dispatched.event = event;
    dispatched.envelope = &envelope;
    dispatched.payload = &payload;
    const SlotLease slot(tokens_);
    return dispatch(*dispatcher_.pin(), *slot, dispatched, nullptr);
  }

  SystemClock clock_;
  testing::RecordingLog log_;
  testing::UnavailableServices services_;
  TokenTable tokens_;
  Dispatcher dispatcher_{clock_};
};

TEST_F(Unreadable, PayloadBlocksAtAGateWhateverItsPolicy) {
  const auto blocked = ask(AGENTD_EVENT_BEFORE_TOOL_CALL, too_deep(), false);
  ASSERT_TRUE(blocked && blocked->blocked);
  EXPECT_TRUE(blocked->reason.starts_with("agentd could not make its payload: ")) << blocked->reason;
  EXPECT_FALSE(ask(AGENTD_EVENT_BEFORE_TOOL_CALL, "{}", false));
}

TEST_F(Unreadable, PayloadIsAFailureWhereNothingCanBeBlocked) {
  for (const bool observes : {false, true}) {
    const auto outcome =
        ask(observes ? AGENTD_EVENT_BEFORE_TOOL_CALL : AGENTD_EVENT_AFTER_TOOL_CALL, too_deep(), observes);
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->blocked);
    EXPECT_EQ(outcome->failures.size(), 1u);
  }
}

}  // namespace
}  // namespace agentd
