// SPDX-License-Identifier: Apache-2.0
// bubblewrap_test.cc - the words for bubblewrap do not depend on the length of a command line, and their number is
// bounded.
#include "core/cage/bubblewrap.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace agentd::cage {
namespace {

std::vector<std::string> modules(const std::string& git, std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i)
    for (const char* const name : {"/config", "/hooks"}) out.push_back(git + "/modules/m" + std::to_string(i) + name);
  return out;
}

TEST(Bubblewrap, GetsItsWordsFromADescriptor) {
  View view;
  view.writable = {"/w"};
  view.guarded = modules("/w/.git", 100);
  const Invocation got = bubblewrap_words("/usr/bin/bwrap", view, "/w", 4, "/h");
  EXPECT_EQ(got.argv, (std::vector<std::string>{"/usr/bin/bwrap", "--args", "4", "--"}));
  EXPECT_TRUE(got.words.starts_with(std::string("--unshare-all\0", 14)));
  EXPECT_TRUE(got.words.ends_with(std::string("--chdir\0/w\0", 11))) << "each has its NUL";
  EXPECT_NE(got.words.find(std::string("--ro-bind-try\0/w/.git/modules/m7/config\0", 40)), std::string::npos);
}

TEST(Bubblewrap, TakesNoWordOutOfAPathWithANul) {
  View view;
  view.writable = {std::string("/w\0--bind\0/\0/etc", 17)};
  const std::string words = bubblewrap_words("bwrap", view, "/w", 4, "/h").words;
  EXPECT_NE(words.find(std::string("--bind\0/w\0", 10)), std::string::npos);
  EXPECT_EQ(words.find("/etc"), std::string::npos);
}

// That of the machine would cover it, with all processes.
TEST(Bubblewrap, KeepsItsOwnProc) {
  View view;
  view.readable = {"/proc", "/proc/self", "/usr"};
  const std::string words = bubblewrap_words("bwrap", view, "/w", 4, "/h").words;
  EXPECT_NE(words.find(std::string("--ro-bind-try\0/usr\0", 19)), std::string::npos) << "the control";
  EXPECT_EQ(words.find(std::string("-try\0/proc", 10)), std::string::npos);
}

TEST(Bubblewrap, GuardsFewPathsOneByOne) {
  const auto few = modules("/w/.git", kGuardedMax / 2);
  EXPECT_EQ(few_guarded(few, {"/w/.git"}), few);
}

TEST(Bubblewrap, GuardsManySubmodulesTogether) {
  auto many = modules("/w/.git", kGuardedMax);
  many.push_back("/w/.git/config");
  many.push_back("/w/.git/modules2/x");
  const auto got = few_guarded(many, {"/w/.git"});
  EXPECT_EQ(got, (std::vector<std::string>{"/w/.git/config", "/w/.git/modules2/x", "/w/.git/modules"}));
}

// The root is a submodule itself, in which commits shall work.
TEST(Bubblewrap, LeavesTheOwnRepositoryOfASubmoduleOpen) {
  const std::string own = "/s/.git/modules/w";
  auto many = modules(own, kGuardedMax);
  many.push_back(own + "/config");
  const auto got = few_guarded(many, {own, own});
  EXPECT_EQ(got, (std::vector<std::string>{own + "/config", own + "/modules"}));
}

// bubblewrap refuses more than 9,000 words. Directories above a guarded path are mounts, too.
TEST(Bubblewrap, StaysBelowTheMostWords) {
  View view;
  view.writable = {"/w"};
  for (std::size_t i = 0; i < kGuardedMax; ++i)
    view.guarded.push_back("/w/.git/modules/a" + std::to_string(i) + "/b/c/d/e/modules/f/config");
  const Invocation got = bubblewrap_words("bwrap", view, "/w", 4, "/h");
  const auto words = std::count(got.words.begin(), got.words.end(), '\0');
  EXPECT_GT(words, 2'000);
  EXPECT_LT(words, 8'000);
}

}  // namespace
}  // namespace agentd::cage
