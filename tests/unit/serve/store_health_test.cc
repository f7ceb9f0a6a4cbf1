// SPDX-License-Identifier: Apache-2.0
#include "core/serve/store_health.h"

#include <gtest/gtest.h>

#include "tests/support/agent_fixture.h"
#include "tests/support/temp_dir.h"

namespace agentd::serve {
namespace {

class Health : public ::testing::Test {
 protected:
  void refuse(bool refuses) {
    store_.keys_fail = [refuses](bool writes) {
      return refuses && writes ? std::optional(Error{Code::kUnavailable, "no space left on the disk"}) : std::nullopt;
    };
  }
  SystemClock clock_;
  agentd::testing::TempDir directory_;
  agentd::testing::WatchedStore store_{make_memory_store(clock_)};
  StoreHealth health_{store_, directory_.path()};
};

TEST_F(Health, WritesNothingWhileNothingHasFailed) {
  EXPECT_TRUE(health_.look(0).works);
  EXPECT_EQ(health_.look(0).store, "ok");
  EXPECT_EQ(store_.key_commits, 0);
}

TEST_F(Health, AFailureCountsUntilAWriteSucceeds) {
  refuse(true);
  EXPECT_TRUE(health_.look(0).works) << "nobody has written";
  for (int i = 0; i < 2; ++i) {
    const auto report = health_.look(1);
    EXPECT_FALSE(report.works);
    EXPECT_EQ(report.store, "no space left on the disk");
  }
  refuse(false);
  EXPECT_TRUE(health_.look(1).works);
  const int commits = store_.key_commits;
  EXPECT_TRUE(health_.look(1).works);
  EXPECT_EQ(store_.key_commits, commits) << "it is written once for a failure";
  refuse(true);
  EXPECT_FALSE(health_.look(2).works);
}

TEST_F(Health, ADirectoryThatIsGoneIsNamed) {
  StoreHealth gone(store_, directory_.file("nowhere"));
  EXPECT_NE(gone.look(0).disk.find(directory_.file("nowhere")), std::string::npos);
  EXPECT_EQ(health_.look(0).disk, "ok") << "this machine's disk is almost full: " << health_.look(0).disk;
}

}  // namespace
}  // namespace agentd::serve
