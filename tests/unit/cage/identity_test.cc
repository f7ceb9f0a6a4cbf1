// SPDX-License-Identifier: Apache-2.0
// identity_test.cc - what is at a path is what was noted of it, and is shown as it has to be.
#include "core/cage/identity.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;
using As = Noted::As;

class IdentityTest : public ::testing::Test {
 protected:
  IdentityTest() {
    for (const char* const name : {"one", "two"}) fs::create_directory(directory_.file(name));
  }
  static bool holds(const std::string& path, As as, Identity identity) {
    return static_cast<bool>(check_noted({{path, as, identity}}));
  }
  const testing::TempDir directory_{"/var/tmp"};
  const std::string one_ = directory_.file("one"), two_ = directory_.file("two");
};

TEST_F(IdentityTest, IsThatOfTheFileAndNotOfItsName) {
  const Identity one = identity_at(one_);
  EXPECT_TRUE(holds(one_, As::kAny, one)) << "the control";
  EXPECT_FALSE(holds(one_, As::kAny, identity_at(two_)));
  fs::rename(one_, directory_.file("moved"));
  EXPECT_FALSE(holds(one_, As::kAny, one));
  fs::create_directory_symlink(two_, one_);
  EXPECT_FALSE(holds(one_, As::kAny, one));
  EXPECT_TRUE(holds(one_, As::kAny, identity_at(two_))) << "where a link leads";
  EXPECT_EQ(identity_behind(one_), identity_at(two_));
}

TEST_F(IdentityTest, OfNothingNeverHolds) {
  const Identity none = identity_at(directory_.file("none"));
  EXPECT_EQ(none.kind, 0u);
  for (const As as : {As::kAny, As::kWritable, As::kReadOnly, As::kEmpty})
    EXPECT_FALSE(holds(directory_.file("none"), as, none));
}

TEST_F(IdentityTest, OfAMountNeedsAMount) {
  EXPECT_TRUE(holds("/proc", As::kWritable, identity_at("/proc"))) << "the control";
  EXPECT_FALSE(holds(one_, As::kWritable, identity_at(one_)));
  EXPECT_FALSE(holds(one_, As::kReadOnly, identity_at(one_)));
  fs::create_directory_symlink("/proc", directory_.file("link"));
  EXPECT_FALSE(holds(directory_.file("link"), As::kWritable, identity_at("/proc")));
}

TEST_F(IdentityTest, OfAHiddenDirectoryIsAnyInMemory) {
  EXPECT_FALSE(holds(one_, As::kEmpty, identity_at(one_)));
  EXPECT_FALSE(holds("/proc", As::kEmpty, identity_at("/proc")));
}

TEST_F(IdentityTest, IsToldInOneSentence) {
  const auto got = check_noted({{one_ + "\n", As::kAny, identity_at(two_)}});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kUnavailable);
  EXPECT_NE(got.error().message.find("was exchanged while the sandbox was made"), std::string::npos);
  EXPECT_EQ(got.error().message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace agentd::cage
