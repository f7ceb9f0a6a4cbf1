// SPDX-License-Identifier: Apache-2.0
#include "core/agent/hook_ledger.h"

#include <gtest/gtest.h>

#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::AgentTest;

HookTrace call_of(std::string_view hook, std::uint64_t duration_ns = 0) {
  HookTrace out;
  out.hook = out.plugin = hook;
  out.duration_ns = duration_ns;
  out.effect = AnswerEffect::kNone;
  return out;
}

TEST(HookLedger, HoldsTheCallsOfEachHook) {
  const HookLimitTable none;
  HookLedger ledger(none);
  ledger.count_call(call_of("audit", 1'500'000));
  ledger.count_call(call_of("guard", 2'000'000));
  HookTrace failed = call_of("audit", 500'000);
  failed.status = AGENTD_E_IO;
  failed.children = 2;
  ledger.count_call(failed);
  HookTrace passed_over = call_of("guard");
  passed_over.effect = AnswerEffect::kSkipped;  // its matcher did not match
  ledger.count_call(passed_over);
  const std::vector<HookUse> uses = ledger.uses();
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(describe(uses[0]), "2 calls, 1 failure, 0.002 s, 2 child processes ended");
  EXPECT_EQ(describe(uses[1]), "1 call, 0.002 s");
}

TEST(HookLedger, TokensOfAPluginAreThoseOfItsHookAlsoBeforeItsFirstCallHasEnded) {
  const HookLimitTable none;
  HookLedger ledger(none);
  ledger.count_thread("summary");
  Usage usage;
  usage.input = 90;
  usage.output = 10;
  ledger.count_usage("summary", usage);
  ledger.count_call(call_of("summary"));
  const std::vector<HookUse> uses = ledger.uses();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(describe(uses[0]), "1 call, 0.000 s, 100 tokens, 1 thread");
}

TEST(HookLedger, SumsEndAtTheirHighestValue) {
  const HookLimitTable none;
  HookLedger ledger(none);
  Usage usage;
  usage.input = UINT64_MAX;
  ledger.count_usage("p", usage);
  ledger.count_usage("p", usage);
  EXPECT_EQ(ledger.uses()[0].tokens, UINT64_MAX);
}

TEST(HookLedger, AHookThatHasHadItsShareIsRefused) {
  HookLimitTable limits;
  limits[""].calls = 3;
  limits["own"].seconds = 2;
  limits["parent"].children = 1;
  HookLedger ledger(limits);
  for (int i = 0; i < 2; ++i) ledger.count_call(call_of("usual"));
  EXPECT_EQ(ledger.refusal("usual"), "");
  ledger.count_call(call_of("usual"));
  EXPECT_EQ(ledger.refusal("usual"), "it has used its 3 calls of this run (hooks.max_calls)");
  for (int i = 0; i < 5; ++i) ledger.count_call(call_of("own", 390'000'000));
  EXPECT_EQ(ledger.refusal("own"), "");
  ledger.count_call(call_of("own", 390'000'000));
  EXPECT_EQ(ledger.refusal("own"), "it has used its 2 seconds of this run (hooks.max_seconds)");
  HookTrace left = call_of("parent");
  left.children = 1;
  ledger.count_call(left);
  EXPECT_EQ(ledger.refusal("parent"), "it has used its 1 child process of this run (hooks.max_children)");
}

TEST(HookLedger, ASubagentsCallsCountInTheRunThatStartedIt) {
  HookLimitTable limits;
  limits[""].calls = 2;
  const auto above = std::make_shared<HookLedger>(limits);
  HookLedger below(limits, above);
  above->count_call(call_of("guard"));
  below.count_call(call_of("guard"));
  EXPECT_EQ(above->uses()[0].calls, 2u);
  EXPECT_EQ(below.uses()[0].calls, 1u);
  EXPECT_NE(below.refusal("guard"), "");
}

class Ledgers : public AgentTest {
 protected:
  std::vector<HookUse> of_run(std::uint32_t run) const {
    std::vector<HookUse> out;
    for (const StoredRecord& record : log())
      if (record.record.type == RecordType::kRunEnd && record.record.run == run)
        out = read_run_end(record.record)->hooks;
    return out;
  }
};

TEST_F(Ledgers, StandAtTheEndOfEachRunInTheLog) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "first", [](auto&) { return AGENTD_OK; });
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("go"));
  ASSERT_TRUE(run("again"));
  for (const std::uint32_t number : {1u, 2u}) {
    const std::vector<HookUse> uses = of_run(number);
    ASSERT_EQ(uses.size(), 1u);
    EXPECT_EQ(uses[0].hook, "first");
    EXPECT_EQ(uses[0].calls, 1u);
  }
}

}  // namespace
}  // namespace agentd
