// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/store_setup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

class StoreSetup : public ::testing::Test {
 protected:
  // Opens and closes the store, and returns how often the other threads were ended.
  int open_and_close() {
    int ended = 0;
    const auto store = open_store(home_.path(), true, clock_, [&] { ++ended; });
    EXPECT_TRUE(store) << (store ? "" : store.error().message);
    return ended;
  }
  std::string mark() const { return home_.path() + "/store/clean"; }

  testing::TempDir home_;
  SystemClock clock_;
};

TEST_F(StoreSetup, OpensANewStoreAtOnce) {
  EXPECT_TRUE(opens_at_once(home_.path()));
  EXPECT_EQ(open_and_close(), 0);
}

TEST_F(StoreSetup, OpensAStoreThatWasClosedNormallyAtOnce) {
  open_and_close();
  ASSERT_TRUE(std::filesystem::exists(mark()));
  EXPECT_TRUE(opens_at_once(home_.path()));
  EXPECT_EQ(open_and_close(), 0);
}

// The look at such a store is a forked child's.
TEST_F(StoreSetup, EndsOtherThreadsBeforeTheLookAtAStoreThatWasNotClosed) {
  open_and_close();
  ASSERT_TRUE(std::filesystem::remove(mark()));
  EXPECT_FALSE(opens_at_once(home_.path()));
  EXPECT_EQ(open_and_close(), 1);
}

}  // namespace
}  // namespace agentd
