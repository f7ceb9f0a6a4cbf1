// SPDX-License-Identifier: Apache-2.0
// What a search finds, in a real index of a real store.
#include "core/search/catch_up.h"
#include "core/search/finder.h"
#include "core/search/searchable.h"
#include "tests/unit/search/search_fixture.h"

namespace agentd {
namespace {

using test::Found;

class SearchQueryTest : public test::SearchTest {};

Record assistant(const std::string& text) {
  MessageRecord record;
  record.message = Message::of_text(Role::kAssistant, text);
  return write_message(record);
}

Record result_of_tool(const std::string& text) {
  ToolResultRecord record;
  record.call_id = "c1";
  record.name = "bash";
  record.status = "ok";
  record.text = text;
  return write_tool_result(record);
}

TEST_F(SearchQueryTest, FindsWordsInAnyCaseAndWithoutAccents) {
  add(1, {"first", "Das Café am Hafen"});
  add(2, {"second", "nothing of it"});
  EXPECT_EQ(found("CAFE"), Found{"1:3"});
  EXPECT_EQ(found("hafen café"), Found{"1:3"});
  EXPECT_EQ(found("hafen nothing"), Found{});  // both in one message
  EXPECT_EQ(found("caf"), Found{});            // words, not their parts
}

TEST_F(SearchQueryTest, AQuotedPhraseIsInOrder) {
  add(1, {"t", "the build failed twice"});
  add(2, {"t", "failed the build"});
  EXPECT_EQ(found("\"build failed\""), Found{"1:3"});
  EXPECT_EQ(found("build failed").size(), 2u);
  EXPECT_EQ(found("\"build failed\" twice"), Found{"1:3"});
}

TEST_F(SearchQueryTest, FindsChineseJapaneseAndKorean) {
  add(1, {"t", "数据库的全文检索很快"});
  add(2, {"t", "データベースの検索"});
  add(3, {"t", "안녕하세요 세계"});
  EXPECT_EQ(found("检索"), Found{"1:3"});
  EXPECT_EQ(found("全文检索"), Found{"1:3"});
  EXPECT_EQ(found("库"), Found{"1:3"});
  EXPECT_EQ(found("快"), Found{"1:3"});  // the last character
  EXPECT_EQ(found("检索 数据"), Found{"1:3"});
  EXPECT_EQ(found("索检"), Found{});
  EXPECT_EQ(found("全检"), Found{});
  EXPECT_EQ(found("ベース"), Found{"2:3"});
  EXPECT_EQ(found("하세"), Found{"3:3"});
}

TEST_F(SearchQueryTest, FindsMixedScripts) {
  add(1, {"t", "用SQLite做检索，版本３.40"});
  EXPECT_EQ(found("用sqlite做"), Found{"1:3"});
  EXPECT_EQ(found("sqlite 检索"), Found{"1:3"});
  EXPECT_EQ(found("版本3"), Found{"1:3"});
  EXPECT_EQ(found("检索。"), Found{"1:3"});
  EXPECT_EQ(found("做sqlite"), Found{});
}

// None of these is an error, has a meaning, or finds what does not have the word.
TEST_F(SearchQueryTest, SyntaxOfTheIndexHasNoMeaning) {
  add(1, {"t", "alpha beta"});
  add(2, {"t", "the words NEAR and NOT, body and OR"});
  for (const char* const query :
       {"alp*", "alpha OR gamma", "alpha NOT gamma", "NEAR(alpha beta)", "body:alpha", "texts:alpha", "alpha AND",
        "{alpha beta}:x", "alpha'; DROP TABLE texts; --", "rank", "^gamma", "alpha + gamma"})
    EXPECT_EQ(found(query), Found{}) << query;
  EXPECT_EQ(found("NEAR NOT body"), Found{"2:3"});
  for (const char* const query : {"alpha*", "^alpha", "alpha:", "(alpha)", "-alpha", "alpha \"", "\"alpha\" \"\" *",
                                  "alpha;--", "'alpha'", "alpha\xff", "alpha + beta"})
    EXPECT_EQ(found(query), Found{"1:3"}) << query;
  EXPECT_EQ(found("alpha"), Found{"1:3"});  // the tables are still there
}

TEST_F(SearchQueryTest, ATextWithoutWordsIsRefused) {
  add(1, {"t"});
  EXPECT_CODE(Code::kInvalid, ask(""));
  EXPECT_CODE(Code::kInvalid, ask("\"*\""));
  EXPECT_CODE(Code::kInvalid, ask(std::string(kQueryBytesMax + 1, 'x')));
}

TEST_F(SearchQueryTest, FindsAnswersResultsAndTitles) {
  const Ulid id = add(1, {"question"});
  append(id, assistant("an answer"));
  append(id, result_of_tool("lines of output"));
  append(id, write_meta({"Renamed"}));
  EXPECT_EQ(found("question"), Found{"1:2"});
  EXPECT_EQ(found("answer"), Found{"1:3"});
  EXPECT_EQ(found("output"), Found{"1:4"});
  EXPECT_EQ(found("renamed"), Found{"1:0"});
  const auto answer = ask("output");
  ASSERT_OK(answer);
  EXPECT_EQ(answer->found[0].hits[0].role, "tool");
  EXPECT_EQ(answer->found[0].info.title, "Renamed");
}

TEST_F(SearchQueryTest, DoesNotFindWhatIsNotShown) {
  const Ulid id = add(1, {"t"});
  MessageRecord record;
  record.message.role = Role::kAssistant;
  Block thinking;
  thinking.kind = BlockKind::kThinking;
  thinking.text = "hidden thought";
  thinking.opaque = "c2lnbmF0dXJl";
  record.message.blocks = {thinking, Block::tool_use("c1", "bash", R"({"command":"hiddencall"})"),
                           Block::of_text("visible")};
  append(id, write_message(record));
  MessageRecord context;
  context.message = Message::of_text(Role::kUser, "hidden context");
  context.message.flags = AGENTD_MESSAGE_CONTEXT;
  append(id, write_message(context));
  EXPECT_EQ(found("visible"), Found{"1:3"});
  for (const char* const query : {"thought", "hidden", "hiddencall", "c2lnbmF0dXJl"})
    EXPECT_EQ(found(query), Found{}) << query;
}

TEST_F(SearchQueryTest, ALongResultIsFoundByItsBeginning) {
  const Ulid id = add(1, {"t"});
  append(id, result_of_tool("begin " + std::string(kResultIndexedMax, 'x') + " end"));
  EXPECT_EQ(found("begin"), Found{"1:3"});
  EXPECT_EQ(found("end"), Found{});
}

TEST_F(SearchQueryTest, AnOldTitleIsForgotten) {
  const Ulid id = add(1, {"t"});
  append(id, write_meta({"oldname"}));
  EXPECT_EQ(found("oldname"), Found{"1:0"});
  append(id, write_meta({"newname"}));
  EXPECT_EQ(found("oldname"), Found{});
  EXPECT_EQ(found("newname"), Found{"1:0"});
}

TEST_F(SearchQueryTest, FiltersByProjectAndDate) {
  add(1, {"t", "needle"}, "here");
  add(2, {"t", "needle"}, "there");
  SearchQuery query;
  query.text = "needle";
  query.project_id = "there";
  EXPECT_EQ(found(query), Found{"2:3"});
  query.project_id = "'; DROP TABLE records; --";
  EXPECT_EQ(found(query), Found{});
  query.project_id.clear();
  EXPECT_EQ(found(query).size(), 2u);
  const std::int64_t now = store_->info(test::id_of(2))->updated_ms;
  query.since_ms = now + 1;
  EXPECT_EQ(found(query), Found{});
  query.since_ms = now - 60'000;
  query.until_ms = now + 1;
  EXPECT_EQ(found(query).size(), 2u);
  query.until_ms = now - 60'000;
  query.since_ms = 0;
  EXPECT_EQ(found(query), Found{});
}

TEST_F(SearchQueryTest, BestConversationFirstAndEachWithItsBestHits) {
  add(1, {"t", "needle " + std::string(2000, 'x') + " hay and more hay and more hay"});
  add(2, {"t", "needle", "needle needle", "one more needle here", "and another needle there"});
  SearchQuery query;
  query.text = "needle";
  const auto answer = ask(query);
  ASSERT_OK(answer);
  ASSERT_EQ(answer->found.size(), 2u);
  EXPECT_EQ(answer->found[0].info.id, test::id_of(2).text());
  EXPECT_EQ(answer->found[0].hits.size(), 3u);
  EXPECT_EQ(answer->found[0].more_hits, 1u);
  EXPECT_EQ(answer->found[0].hits[0].seq, 4u);
  EXPECT_EQ(answer->found[1].more_hits, 0u);
  EXPECT_FALSE(answer->more);
  query.limit = 1;
  const auto one = ask(query);
  ASSERT_OK(one);
  EXPECT_EQ(one->found.size(), 1u);
  EXPECT_TRUE(one->more);
}

TEST_F(SearchQueryTest, OfEqualHitsTheNewerIsFirst) {
  add(1, {"t", "needle"});
  add(2, {"t", "needle"});
  EXPECT_EQ(found("needle"), (Found{"2:3", "1:3"}));
}

TEST_F(SearchQueryTest, SnippetsAreOfTheStoresText) {
  add(1, {"t", "前言。\x1b[31m用全文检索\n查找 Ｎｅｅｄｌｅ 后"});
  for (const auto& [query, expected] : {std::pair("检索", "检索"), std::pair("needle", "Ｎｅｅｄｌｅ")}) {
    const auto answer = ask(query);
    ASSERT_OK(answer);
    ASSERT_EQ(answer->found.size(), 1u);
    const Snippet& snippet = answer->found[0].hits[0].snippet;
    EXPECT_EQ(snippet.text, "前言。\\x1b[31m用全文检索 查找 Ｎｅｅｄｌｅ 后");
    ASSERT_EQ(snippet.matches.size(), 1u);
    EXPECT_EQ(snippet.text.substr(snippet.matches[0].from, snippet.matches[0].to - snippet.matches[0].from), expected);
  }
}

TEST_F(SearchQueryTest, BeyondTheRankedMatchesANoteSaysSo) {
  std::vector<std::string> many(static_cast<std::size_t>(kRankedMax) / 2, "needle");
  add(1, many);
  add(2, many);
  const auto fewer = ask("needle");  // with the titles just over the limit
  ASSERT_OK(fewer);
  ASSERT_EQ(fewer->notes.size(), 1u);
  EXPECT_NE(fewer->notes[0].find("5,000"), std::string::npos) << fewer->notes[0];
  EXPECT_EQ(fewer->found.size(), 2u);
}

}  // namespace
}  // namespace agentd
