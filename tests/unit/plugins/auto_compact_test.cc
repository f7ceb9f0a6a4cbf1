// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plugins/plugin_fixture.h"

namespace agentd::testing {
namespace {

class AutoCompact : public ::testing::Test {
 protected:
  AutoCompact() : host_(load_plugin("auto_compact")) {
    host_.conversation.limit = 1'000;
    host_.conversation.revision = 42;
  }
  ~AutoCompact() override { EXPECT_EQ(host_.breaches(), std::vector<std::string>{}); }
  outcome stop_at(std::uint64_t used, bool hook_active = false) {
    host_.conversation.used = used;
    return host_.agent_stop({.continuation = hook_active ? 1u : 0u, .hook_active = hook_active});
  }
  fake_host host_;
};

TEST_F(AutoCompact, ReplacesTheMessagesByOneUserMessageWithTheSummary) {
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  host_.compactor.summary = "what happened";
  const outcome got = stop_at(701);
  EXPECT_EQ(got.status, AGENTD_OK);
  const recorded_action* replaced = got.find(AGENTD_ACT_REPLACE_MESSAGES);
  ASSERT_NE(replaced, nullptr);
  EXPECT_EQ(got.actions.size(), 1u);
  EXPECT_EQ(replaced->base_revision, 42u);
  ASSERT_EQ(replaced->parts.size(), 1u);
  EXPECT_EQ(replaced->parts[0].kind, AGENTD_PART_LITERAL);
  EXPECT_EQ(replaced->parts[0].role, AGENTD_ROLE_USER);
  EXPECT_EQ(replaced->parts[0].text, "what happened");
}

TEST_F(AutoCompact, SummarisesTheWholeViewOfTheConversation) {
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  stop_at(900);
  ASSERT_EQ(host_.compactor.compacted.size(), 1u);
  EXPECT_NE(host_.compactor.compacted[0].conversation, 0u);
  EXPECT_EQ(host_.compactor.compacted[0].first, 0u);
  EXPECT_EQ(host_.compactor.compacted[0].last, 0u);
  EXPECT_EQ(host_.compactor.compacted[0].strategy, static_cast<unsigned>(AGENTD_STRATEGY_FULL));
}

TEST_F(AutoCompact, DoesNothingUpToTheMark) {
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  EXPECT_TRUE(stop_at(700).actions.empty());
  EXPECT_TRUE(stop_at(0).actions.empty());
  EXPECT_TRUE(host_.compactor.compacted.empty());
}

TEST_F(AutoCompact, DoesNothingWhenTheWindowIsUnknown) {
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  host_.conversation.limit = 0;
  EXPECT_TRUE(stop_at(1'000'000).actions.empty());
}

TEST_F(AutoCompact, DoesNothingInARunThatAHookContinued) {
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  EXPECT_TRUE(stop_at(990, true).actions.empty());
  EXPECT_TRUE(host_.compactor.compacted.empty());
}

TEST_F(AutoCompact, TakesItsMarkAndItsWordsFromTheConfig) {
  ASSERT_EQ(host_.create(R"({"at_percent":12.5,"model":"small","instructions":"Keep names."})").status, AGENTD_OK);
  EXPECT_TRUE(stop_at(125).actions.empty());
  EXPECT_TRUE(stop_at(126).has(AGENTD_ACT_REPLACE_MESSAGES));
  EXPECT_EQ(host_.compactor.compacted[0].model, "small");
  EXPECT_EQ(host_.compactor.compacted[0].instructions, "Keep names.");
}

TEST_F(AutoCompact, RefusesAConfigThatMakesNoSense) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"at_percent":0})", "from 1 to 99"},    {R"({"at_percent":100})", "from 1 to 99"},
      {R"({"at_percent":-5})", "from 1 to 99"},   {R"({"at_percent":"70"})", "from 1 to 99"},
      {R"({"at_percent":null})", "from 1 to 99"}, {R"({"at":70})", "unknown key at"},
      {R"({"model":1})", "model must be a text"}, {R"([])", "must be an object"},
      {R"({"at_percent":)", "not valid JSON"}};
  for (const auto& [config, sentence] : cases) {
    const outcome got = host_.create(config);
    EXPECT_EQ(got.status, AGENTD_E_ARG) << config;
    EXPECT_NE(got.error.find(sentence), std::string::npos) << config << ": " << got.error;
  }
}

TEST_F(AutoCompact, LeavesEverythingWhenTheSummaryFails) {
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  host_.compactor.status = AGENTD_E_IO;
  const outcome got = stop_at(900);
  EXPECT_EQ(got.status, AGENTD_E_IO);
  EXPECT_TRUE(got.actions.empty());
  EXPECT_NE(got.error.find("is unchanged"), std::string::npos);
}

TEST_F(AutoCompact, LeavesEverythingWhenTheSummaryIsBlank) {
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  for (const char* blank : {"", " \n\t "}) {
    host_.compactor.summary = blank;
    const outcome got = stop_at(900);
    EXPECT_TRUE(got.actions.empty());
    EXPECT_NE(got.error.find("empty"), std::string::npos);
  }
}

TEST_F(AutoCompact, LeavesEverythingWhenTheSummaryIsNoSmaller) {
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  host_.compactor.pre_tokens = 100;
  host_.compactor.post_tokens = 100;
  const outcome got = stop_at(900);
  EXPECT_EQ(got.status, AGENTD_OK);
  EXPECT_TRUE(got.actions.empty());
  ASSERT_FALSE(host_.log.empty());
  EXPECT_NE(host_.log.back().text.find("not smaller"), std::string::npos);
}

TEST_F(AutoCompact, LeavesEverythingWhenWhatCannotBeRemovedIsOverTheMark) {
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  host_.conversation.floor = 800;
  EXPECT_TRUE(stop_at(900).actions.empty());
  EXPECT_TRUE(host_.compactor.compacted.empty());
}

TEST_F(AutoCompact, DoesNotStartWithoutTheCompactor) {
  host_.deny("compactor");
  const outcome got = host_.create(R"({"instructions":"Keep names."})");
  EXPECT_EQ(got.status, AGENTD_E_DENIED);
  EXPECT_EQ(got.error, "this plugin requires compactor, which was not granted");
}

TEST_F(AutoCompact, EndsQuietlyWhenItIsCancelled) {
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  host_.compactor.status = AGENTD_E_CANCELLED;
  const outcome got = stop_at(900);
  EXPECT_EQ(got.status, AGENTD_E_CANCELLED);
  EXPECT_TRUE(got.actions.empty());
}

TEST_F(AutoCompact, WantsNoMessages) {
  ASSERT_EQ(host_.create("{}").status, AGENTD_OK);
  ASSERT_EQ(host_.plugin()->hooks.count, 1u);
  const auto* row = static_cast<const agentd_hook*>(host_.plugin()->hooks.first);
  EXPECT_EQ(row->event, static_cast<unsigned>(AGENTD_EVENT_AGENT_STOP));
  EXPECT_EQ(row->wants, 0u);
}

}  // namespace
}  // namespace agentd::testing
