// SPDX-License-Identifier: Apache-2.0
// The state of an old binary survives a reload, in the process and from one worker to the next.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

using testing::HostFixture;

class StateOfReleases : public ::testing::TestWithParam<Isolation> {
 protected:
  static void load(HostFixture& fixture) {
    fixture.options.isolation = GetParam();
    fixture.options.worker.program = AGENTD_HOOK_WORKER;
    fixture.options.plugins["state"].config_json = R"({"begin": 3})";
    fixture.install("state");
    fixture.load();
    ASSERT_EQ(fixture.host->plugins().size(), 1u);
    ASSERT_EQ(fixture.host->plugins()[0]->isolation(), GetParam());
  }
  static std::string reason(HostFixture& fixture) {
    const auto outcome = fixture.before_tool_call("read_file");
    return outcome ? outcome->reason : "";
  }
};

TEST_P(StateOfReleases, IsHandedFromOneInstanceToTheNext) {
  HostFixture first(AGENTD_CORPUS "/1.0"), second(AGENTD_CORPUS "/1.0");
  load(first);
  EXPECT_EQ(reason(first), "tools so far: 4");
  EXPECT_EQ(reason(first), "");
  const auto state = first.host->plugins()[0]->save_state();
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, "5");
  load(second);
  ASSERT_TRUE(second.host->plugins()[0]->load_state(**state, "1.0.0"));
  EXPECT_EQ(reason(second), "tools so far: 6");
}

TEST_P(StateOfReleases, ABadConfigurationIsRefusedWithItsSentence) {
  HostFixture fixture(AGENTD_CORPUS "/1.0");
  fixture.options.isolation = GetParam();
  fixture.options.worker.program = AGENTD_HOOK_WORKER;
  fixture.options.plugins["state"].config_json = R"({"begin": "now"})";
  fixture.install("state");
  fixture.load();
  ASSERT_EQ(fixture.host->problems().size(), 1u);
  EXPECT_NE(fixture.host->problems()[0].message.find("begin must be a number"), std::string::npos)
      << fixture.host->problems()[0].message;
}

INSTANTIATE_TEST_SUITE_P(Places, StateOfReleases, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         [](const auto& each) {
                           return std::string(each.param == Isolation::kProcess ? "worker" : "process");
                         });

}  // namespace
}  // namespace agentd
