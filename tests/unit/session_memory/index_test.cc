// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/index.h"

#include <gtest/gtest.h>

#include "tests/unit/session_memory/support.h"

namespace session_memory {
namespace {

using testing::kNow;
using testing::lesson;

constexpr std::int64_t kDay = 86'400'000;

// The memories of a project of some age.
std::vector<Memory> project() {
  std::vector<Memory> out{
      lesson("LMDB map size must grow before the commit", "MDB_MAP_FULL appears when the map is full; grow it first.",
             "lmdb"),
      lesson("Precompiled headers break with -g3", "The compiler refuses the header; use -g1 in tests.", "compiler"),
      lesson("Retry HTTP 429 as the Retry-After header says", "Do not retry at once: the server counts it.", "http"),
      lesson("升级数据库之前先备份", "迁移不能回滚，失败后只能恢复备份。", "数据库"),
      lesson("用户要求提交信息使用英文", "提交信息、注释和文档都用英文。", "提交"),
      lesson("Fix the failing test", "Run the test again after the change; the error is gone.", "tests"),
      lesson("maxTokens limits each answer", "The setting max_tokens is per answer, not per run.", "budget")};
  for (std::size_t i = 0; i < out.size(); ++i) out[i].id = derived_id("index", 0, i);
  return out;
}

std::vector<std::string> titles(const std::vector<Memory>& memories, const std::vector<Hit>& hits) {
  std::vector<std::string> out;
  for (const Hit& hit : hits) out.push_back(memories[hit.at].title);
  return out;
}

std::vector<std::string> found(std::string_view query, std::size_t limit = 3) {
  const std::vector<Memory> memories = project();
  return titles(memories, Index(memories).search(query, limit, kNow));
}

TEST(Index, FindsWhatTheQueryIsAbout) {
  const std::pair<const char*, const char*> cases[] = {
      {"the LMDB map is full at commit", "LMDB map size must grow before the commit"},
      {"why does a precompiled header fail with debug level g3", "Precompiled headers break with -g3"},
      {"the server says 429: when to retry", "Retry HTTP 429 as the Retry-After header says"},
      {"数据库升级失败怎么恢复", "升级数据库之前先备份"},
      {"提交信息用什么语言", "用户要求提交信息使用英文"},
      {"max tokens", "maxTokens limits each answer"}};
  for (const auto& [query, title] : cases) {
    const auto got = found(query);
    ASSERT_FALSE(got.empty()) << query;
    EXPECT_EQ(got.front(), title) << query;
  }
}

TEST(Index, AnswersNothingToOtherQueries) {
  for (const char* query :
       {"fix the error", "please fix this problem and run it", "kubernetes ingress certificate renewal",
        "write a poem about the sea", "如何配置网络代理", "", "the of and", "!!!"})
    EXPECT_TRUE(found(query).empty()) << query << ": " << found(query).front();
}

TEST(Index, AProjectWithOneMemoryFindsIt) {
  std::vector<Memory> one{project().front()};
  const Index index(one);
  EXPECT_EQ(index.search("LMDB says that the map is full", 3, kNow).size(), 1u);
  EXPECT_TRUE(index.search("the parser drops comments", 3, kNow).empty());
}

TEST(Index, ATitleCountsMoreThanTheContent) {
  std::vector<Memory> two{lesson("Something else", "The scheduler is mentioned here, the scheduler."),
                          lesson("The scheduler is fair", "Nothing more is known.")};
  two[0].id = "A";
  two[1].id = "B";
  const auto hits = Index(two).search("scheduler", 3, kNow);
  ASSERT_EQ(hits.size(), 2u);
  EXPECT_EQ(hits[0].at, 1u);
}

TEST(Index, ConfidenceAndUseDecide) {
  std::vector<Memory> two{lesson("The scheduler is fair", "It takes turns."),
                          lesson("The scheduler is fair", "It takes turns.")};
  two[0].id = "A";
  two[1].id = "B";
  two[1].confidence = 0.9;
  EXPECT_EQ(Index(two).search("scheduler turns", 3, kNow)[0].at, 1u);
  two[1].confidence = two[0].confidence;
  two[0].created_ms = two[1].created_ms = kNow - 400 * kDay;
  two[0].used_ms = kNow - kDay;
  EXPECT_EQ(Index(two).search("scheduler turns", 3, kNow)[0].at, 0u);
}

TEST(Index, TheNewerOfEqualOnesIsFirst) {
  std::vector<Memory> two{lesson("The scheduler is fair", "x"), lesson("The scheduler is fair", "x")};
  two[0].id = "A";
  two[1].id = "B";
  two[0].created_ms = kNow + 5;  // both in the future: no decay
  two[1].created_ms = kNow + 9;
  EXPECT_EQ(Index(two).search("scheduler", 3, kNow)[0].at, 1u);
}

TEST(Index, ASupersededMemoryIsHidden) {
  std::vector<Memory> memories = project();
  memories[0].superseded_by = memories[1].id;
  EXPECT_TRUE(Index(memories).search("LMDB map full", 3, kNow).empty());
}

TEST(Index, GivesNoMoreThanAskedFor) {
  std::vector<Memory> many;
  for (int i = 0; i < 20; ++i) {
    many.push_back(lesson("Scheduler rule", "number " + std::to_string(i)));
    many.back().id = std::to_string(i);
  }
  EXPECT_EQ(Index(many).search("scheduler", 3, kNow).size(), 3u);
}

TEST(Decay, FallsToOneHalfAndSlowerWithUse) {
  EXPECT_EQ(decay(kNow, 0, kNow), 1);
  EXPECT_EQ(decay(kNow + kDay, 0, kNow), 1);
  EXPECT_NEAR(decay(kNow - 90 * kDay, 0, kNow), 0.75, 1e-9);
  EXPECT_GT(decay(kNow - 90 * kDay, 7, kNow), 0.9);
  EXPECT_GE(decay(0, 0, kNow), 0.5);
}

}  // namespace
}  // namespace session_memory
