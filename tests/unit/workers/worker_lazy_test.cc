// SPDX-License-Identifier: Apache-2.0
// worker_lazy_test.cc - a module that has started before gets its worker when it is first asked, and
// one that has not is started at load.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/workers/worker_fixture.h"

namespace agentd {
namespace {

using testing::eventually;
using testing::WorkerFixture;

class LazyWorker : public ::testing::Test {
 protected:
  void SetUp() override {
    fixture_.options.record_directory = fixture_.temp.file("records");
    fixture_.install("moods_toolless", "moods");
  }
  void load() {
    fixture_.host.reset();
    fixture_.load();
    ASSERT_EQ(fixture_.host->plugins().size(), 1u) << fixture_.host->problems().at(0).message;
  }
  bool has_worker() const { return !fixture_.worker().pids().empty(); }
  std::string record() const {
    for (const auto& each : std::filesystem::directory_iterator(fixture_.temp.file("records"))) return each.path();
    return {};
  }
  void change_record(const std::string& from, const std::string& to) const {
    std::ifstream in(record());
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, from.size(), to);
    std::ofstream(record()) << text;
  }

  WorkerFixture fixture_;
};

TEST_F(LazyWorker, OfAModuleThatNobodyHasSeenStartIsStartedAtLoad) {
  load();
  EXPECT_TRUE(has_worker());
}

TEST_F(LazyWorker, IsStartedByTheFirstCallOfALaterLoad) {
  load();
  load();
  EXPECT_FALSE(has_worker());
  ASSERT_EQ(fixture_.host->subscriptions().size(), 1u);
  EXPECT_EQ(fixture_.host->subscriptions()[0].priority, 5);
  EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
  EXPECT_TRUE(has_worker());
}

TEST_F(LazyWorker, IsNeverStartedWhenNobodyAsks) {
  load();
  load();
  fixture_.host.reset();
  EXPECT_TRUE(testing::children().empty());
}

TEST_F(LazyWorker, IsStartedAtLoadWhereNoRecordsAreKept) {
  fixture_.options.record_directory.clear();
  load();
  load();
  EXPECT_TRUE(has_worker());
}

TEST_F(LazyWorker, IsStartedAtLoadWithAnotherConfigurationAndToldWhenThatIsRefused) {
  load();
  fixture_.options.plugins["moods"].config_json = R"({"another":1})";
  load();
  EXPECT_TRUE(has_worker());
  fixture_.options.plugins["moods"].config_json = R"({"no_start":1})";
  fixture_.host.reset();
  fixture_.load();
  EXPECT_TRUE(fixture_.host->plugins().empty());
  ASSERT_EQ(fixture_.host->problems().size(), 1u);
  EXPECT_NE(fixture_.host->problems()[0].message.find("not today"), std::string::npos);
}

TEST_F(LazyWorker, IsStartedAtLoadWithOtherGrants) {
  load();
  fixture_.options.plugins["moods"].grants = std::set<std::string>{"agentd.store"};
  load();
  EXPECT_TRUE(has_worker());
}

TEST_F(LazyWorker, OfAModuleWithToolsIsStartedAtLoad) {
  std::filesystem::remove(fixture_.path("moods.so"));
  fixture_.install("moods");
  load();
  load();
  EXPECT_TRUE(has_worker());
  EXPECT_EQ(fixture_.host->tools().tools().size(), 2u);
}

TEST_F(LazyWorker, IsStartedAtOnceForAnEventThatIsSureToCome) {
  load();
  fixture_.options.expected = {AGENTD_EVENT_AGENT_STOP};
  load();
  EXPECT_FALSE(has_worker());
  fixture_.options.expected = {AGENTD_EVENT_BEFORE_TOOL_CALL};
  load();
  EXPECT_TRUE(eventually([&] { return has_worker(); }));
  EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
}

TEST_F(LazyWorker, IsStartedAtLoadWhenTheRecordIsDamaged) {
  load();
  std::ofstream(record()) << "{";
  load();
  EXPECT_TRUE(has_worker());
}

TEST_F(LazyWorker, FailsByItsPolicyWhenItIsNotWhatWasRecorded) {
  load();
  change_record("\"priority\":5", "\"priority\":6");
  fixture_.options.plugins["moods"].on_failure = FailurePolicy::kClosed;
  load();
  EXPECT_FALSE(has_worker());
  const testing::Said said = fixture_.ask("bash");
  EXPECT_TRUE(said.blocked && said.by_failure) << said;
  EXPECT_NE(said.failure.find("the restarted module reports other rows than at its first start"), std::string::npos)
      << said;
  load();
  EXPECT_TRUE(has_worker()) << "the record is forgotten";
  EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
}

TEST_F(LazyWorker, FailsByItsPolicyWhenItCannotStart) {
  load();
  fixture_.options.plugins["moods"].on_failure = FailurePolicy::kClosed;
  load();
  // As when the program goes while agentd runs.
  fixture_.host.reset();
  const std::string program = fixture_.temp.file("worker");
  std::filesystem::copy_file(fixture_.options.worker.program, program);
  fixture_.options.worker.program = program;
  load();
  load();
  EXPECT_FALSE(has_worker());
  std::filesystem::remove(program);
  const testing::Said said = fixture_.ask("bash");
  EXPECT_TRUE(said.blocked && said.by_failure) << said;
  EXPECT_NE(said.failure.find("its worker could not be started"), std::string::npos) << said;
}

TEST_F(LazyWorker, TakesTheStateOfTheOneBefore) {
  load();
  load();
  ASSERT_TRUE(fixture_.worker().load_state("41", "1.0.0"));
  EXPECT_EQ(fixture_.ask("calls").reason, "42");
}

TEST_F(LazyWorker, OfAConversationIsStartedForThatOneAlone) {
  fixture_.options.isolation = Isolation::kProcessPerConversation;
  load();
  load();
  testing::How how;
  how.conversation = 7;
  EXPECT_EQ(fixture_.ask("bash", how).reason, "no shell here");
  EXPECT_EQ(fixture_.worker().pids().size(), 1u);
}

}  // namespace
}  // namespace agentd
