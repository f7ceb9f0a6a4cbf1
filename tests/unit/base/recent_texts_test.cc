// SPDX-License-Identifier: Apache-2.0
#include "core/base/recent_texts.h"

#include <gtest/gtest.h>

#include <string>

namespace agentd {
namespace {

constexpr std::size_t kNoLimit = SIZE_MAX;

TEST(RecentTexts, KeepsTheNewestTextOfAKey) {
  RecentTexts texts(10, kNoLimit);
  EXPECT_EQ(texts.find("a"), nullptr);
  texts.put("a", "1");
  texts.put("a", "2");
  ASSERT_NE(texts.find("a"), nullptr);
  EXPECT_EQ(*texts.find("a"), "2");
  EXPECT_EQ(texts.size(), 1u);
}

TEST(RecentTexts, ForgetsTheKeyThatWasUsedLongestAgo) {
  RecentTexts texts(3, kNoLimit);
  for (const char* const key : {"a", "b", "c"}) texts.put(key, key);
  EXPECT_NE(texts.find("a"), nullptr);  // a use
  texts.put("b", "again");              // another
  texts.put("d", "d");
  EXPECT_EQ(texts.find("c"), nullptr);
  EXPECT_NE(texts.find("a"), nullptr);
  EXPECT_EQ(*texts.find("b"), "again");
  EXPECT_NE(texts.find("d"), nullptr);
}

TEST(RecentTexts, StaysWithinItsLimitsHoweverManyKeysCome) {
  RecentTexts texts(1'000, kNoLimit);
  for (int i = 0; i < 50'000; ++i) {
    texts.put("conversation " + std::to_string(i), std::to_string(i));
    ASSERT_NE(texts.find("conversation 0"), nullptr) << "it is used all the time: " << i;
  }
  EXPECT_EQ(texts.size(), 1'000u);
  EXPECT_EQ(texts.find("conversation 49000"), nullptr);
  ASSERT_NE(texts.find("conversation 49001"), nullptr);
  EXPECT_EQ(*texts.find("conversation 49999"), "49999");
}

TEST(RecentTexts, CountsItsBytes) {
  RecentTexts texts(1'000, 100);
  for (const char* const key : {"a", "b", "c"}) texts.put(key, std::string(32, 'x'));
  EXPECT_EQ(texts.size(), 3u);
  texts.put("b", std::string(33, 'x'));  // 100 bytes
  EXPECT_EQ(texts.size(), 3u);
  texts.put("c", std::string(33, 'x'));
  EXPECT_EQ(texts.find("a"), nullptr);
  texts.put("long", std::string(1'000, 'x'));
  EXPECT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts.find("long")->size(), 1'000u) << "the newest is kept in any case";
  texts.put("d", "");
  EXPECT_EQ(texts.find("long"), nullptr);
  EXPECT_EQ(texts.size(), 1u);
  texts.clear();
  EXPECT_EQ(texts.size(), 0u);
  for (const char* const key : {"a", "b", "c"}) texts.put(key, std::string(32, 'x'));
  EXPECT_EQ(texts.size(), 3u) << "nothing of the cleared ones is counted";
}

}  // namespace
}  // namespace agentd
