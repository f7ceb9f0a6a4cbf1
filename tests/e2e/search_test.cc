// SPDX-License-Identifier: Apache-2.0
// search_test.cc - conversation search by the built program.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class SearchOfProgram : public ::testing::Test {
 protected:
  void say(const std::string& message, const std::string& answer) {
    const std::string script = program_.script("- text: \"" + answer + "\"\n");
    const Finished ran = program_.run({"run", "--no-hooks", "--script", script, message});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  Finished search(std::vector<std::string> words) {
    words.insert(words.begin(), {"conversation", "search"});
    return program_.run(words);
  }
  std::string index() const { return program_.home() + "/search.db"; }
  // The local date of so many days from now.
  static std::string date(int days) {
    const std::time_t at = std::time(nullptr) + std::time_t{days} * 24 * 60 * 60;
    std::tm parts{};
    ::localtime_r(&at, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts)};
  }
  bool in_home(const std::string& text) const {
    for (const auto& file : std::filesystem::directory_iterator(program_.home()))
      if (file.is_regular_file() && has(read_file(file.path(), 1u << 30).value_or(""), text)) return true;
    return false;
  }

  Program program_;
};

TEST_F(SearchOfProgram, ARunningProgramFeedsTheIndexOfThoseWhoSearch) {
  const auto working_with = [&](const std::string& message) {
    return program_.start(
        {"run", "--no-hooks", "--script", program_.script("- delay_ms: 600000\n  text: well\n"), message});
  };
  {
    Running running = working_with("where is the needle");
    ASSERT_TRUE(running.wait_for_err("")) << running.err();
    for (int i = 0; i < 1'000 && program_.newest().empty(); ++i) ::usleep(10'000);
    EXPECT_FALSE(exists(index())) << "nobody has searched";
  }
  EXPECT_EQ(search({"needle"}).code, 0);
  const Running running = working_with("where is the thimble");
  bool fed = false;
  for (int i = 0; i < 3'000 && !fed; ++i) {
    fed = has(read_file(index(), 1u << 30).value_or(""), "thimble");
    ::usleep(10'000);
  }
  EXPECT_TRUE(fed);
}

TEST_F(SearchOfProgram, FindsWhatWasSaidAndAnswered) {
  say("where is the needle service", "it listens on 8080; 全文检索 is there too");
  const std::string id = program_.newest();
  const Finished needle = search({"needle"});
  EXPECT_EQ(needle.code, 0) << needle.err;
  EXPECT_TRUE(has(needle.out, id)) << needle.out;
  EXPECT_TRUE(has(needle.out, "user       where is the needle service")) << needle.out;
  EXPECT_EQ(needle.err, "");
  EXPECT_TRUE(has(search({"检索"}).out, "assistant  it listens on 8080; 全文检索 is there too"));
  EXPECT_TRUE(has(search({"\"needle service\""}).out, id));
  EXPECT_FALSE(has(search({"\"service needle\""}).out, id));
  struct stat info {};
  ASSERT_EQ(::stat(index().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(SearchOfProgram, JsonHasOneObjectForEachHit) {
  say("a needle", "another needle");
  const Finished found = search({"--json", "needle"});
  EXPECT_EQ(found.code, 0) << found.err;
  const auto lines = json_lines(found.out);
  ASSERT_EQ(lines.size(), 2u) << found.out;
  for (const JsonDocument& line : lines) {
    const JsonView hit = line.root();
    EXPECT_EQ(hit["conversation_id"].string_or(""), program_.newest());
    EXPECT_EQ(hit["title"].string_or(""), "a needle");
    EXPECT_GT(hit["seq"].uint_or(0), 0u);
    EXPECT_GT(hit["time_ms"].uint_or(0), 0u);
    const bool user = hit["role"].string_or("") == "user";
    EXPECT_EQ(hit["role"].string_or(""), user ? "user" : "assistant");
    EXPECT_EQ(hit["snippet"].string_or(""), user ? "a needle" : "another needle");
    EXPECT_EQ(hit["matches"].size(), 1u);
  }
}

TEST_F(SearchOfProgram, NothingFoundIsNoFailure) {
  const Finished without_store = search({"needle"});
  EXPECT_EQ(without_store.code, 0) << without_store.err;
  EXPECT_EQ(without_store.out, "no matches in this project; --all searches all projects\n");
  EXPECT_FALSE(exists(index()));
  say("hello", "well");
  EXPECT_EQ(search({"needle"}).out, without_store.out);
  EXPECT_EQ(search({"--all", "needle"}).out, "no matches\n");
  const Finished json = search({"--json", "needle"});
  EXPECT_EQ(json.code, 0);
  EXPECT_EQ(json.out, "");
}

TEST_F(SearchOfProgram, DoctorSaysWhetherItCanBe) {
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "ok      SQLite: conversations can be searched"));
}

TEST_F(SearchOfProgram, MistakesAreUsageErrors) {
  say("hello", "well");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {""},
                                             {"*"},
                                             {"--all", "--project", ".", "x"},
                                             {"--project", "/does/not/exist", "x"},
                                             {"--since", "yesterday", "x"},
                                             {"--since", "2026-02-30", "x"},
                                             {"--since", "2026-1-1", "x"},
                                             {"--until", "2026-13-01", "x"},
                                             {"--since", "2026-02-02", "--until", "2026-02-01", "x"},
                                             {"--limit", "0", "x"}}) {
    const Finished ran = search(words);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_FALSE(ran.err.empty());
  }
}

// What would be syntax of the index is text.
TEST_F(SearchOfProgram, SignsAreText) {
  say("alpha beta", "well");
  for (const char* const query : {"\"", "alpha OR gamma", "NEAR(alpha gamma)", "body:alpha", "alp*", "a' OR 1=1; --"}) {
    const Finished ran = search({query});
    EXPECT_FALSE(has(ran.out, "alpha beta")) << query << ": " << ran.out;
    EXPECT_FALSE(has(ran.err, "sqlite") || has(ran.err, "syntax") || has(ran.err, "search.db")) << ran.err;
  }
  EXPECT_TRUE(has(search({"alpha*"}).out, "alpha beta"));
}

TEST_F(SearchOfProgram, ProjectsAndDatesFilter) {
  say("a needle here", "well");
  const std::string first = program_.project();
  const std::string other = program_.directory().file("other");
  std::filesystem::create_directories(other);
  program_.set_project(other);
  EXPECT_FALSE(has(search({"needle"}).out, "here"));
  EXPECT_TRUE(has(search({"--all", "needle"}).out, "a needle here"));
  EXPECT_TRUE(has(search({"--project", first, "needle"}).out, "a needle here"));
  EXPECT_TRUE(has(search({"--project", "../" + std::filesystem::path(first).filename().string(), "needle"}).out,
                  "a needle here"));
  for (const auto& [option, days, found] : std::vector<std::tuple<std::string, int, bool>>{
           {"--since", -1, true}, {"--since", 2, false}, {"--until", 1, true}, {"--until", -2, false}})
    EXPECT_EQ(has(search({"--all", option, date(days), "needle"}).out, "a needle here"), found) << option << days;
}

TEST_F(SearchOfProgram, BeyondTheLimitItSaysSo) {
  say("first needle", "well");
  say("second needle", "well");
  const Finished one = search({"--limit", "1", "needle"});
  EXPECT_EQ(one.code, 0);
  EXPECT_TRUE(has(one.err, "there are more than 1")) << one.err;
  EXPECT_NE(has(one.out, "first"), has(one.out, "second")) << one.out;
  EXPECT_EQ(search({"--limit", "2", "needle"}).err, "");
}

TEST_F(SearchOfProgram, NoHitMovesTheTerminal) {
  say("question", "red \\e[31m needle \\a");
  const Finished found = search({"needle"});
  EXPECT_TRUE(has(found.out, "needle")) << found.out;
  EXPECT_FALSE(has(found.out, "\x1b")) << found.out;
  EXPECT_FALSE(has(found.out, "\a")) << found.out;
}

TEST_F(SearchOfProgram, ADeletedConversationLeavesTheIndex) {
  say("the xylophone", "well");
  const std::string id = program_.newest();
  say("the needle", "well");
  ASSERT_TRUE(has(search({"xylophone"}).out, id));
  ASSERT_TRUE(in_home("xylophone"));  // the control
  const Finished deleted = program_.run({"conversation", "delete", id, "--yes"});
  ASSERT_EQ(deleted.code, 0) << deleted.err;
  EXPECT_FALSE(in_home("xylophone"));
  EXPECT_FALSE(has(search({"xylophone"}).out, id));
  EXPECT_TRUE(has(search({"needle"}).out, "the needle"));
  EXPECT_FALSE(in_home("xylophone"));
}

TEST_F(SearchOfProgram, ADamagedIndexIsRebuiltSilentlyAndLogged) {
  say("the needle", "well");
  ASSERT_TRUE(has(search({"needle"}).out, "the needle"));
  std::ofstream(index(), std::ios::trunc) << "this is not an index";
  const Finished found = search({"needle"});
  EXPECT_EQ(found.code, 0);
  EXPECT_TRUE(has(found.out, "the needle")) << found.out;
  EXPECT_EQ(found.err, "");
  const std::string log = read_file(program_.home() + "/agentd.log", 1u << 20).value_or("");
  EXPECT_TRUE(has(log, "search.db is built again: it is damaged")) << log;
}

TEST_F(SearchOfProgram, TwoProcessesAtOnceFind) {
  say("the needle", "well");
  Running first = program_.start({"conversation", "search", "needle"});
  Running second = program_.start({"conversation", "search", "needle"});
  for (Running* const each : {&first, &second}) {
    const Finished found = each->wait();
    EXPECT_EQ(found.code, 0) << found.err;
    EXPECT_TRUE(has(found.out, "the needle")) << found.out << found.err;
  }
}

TEST_F(SearchOfProgram, OtherCommandsDoNotLoadSqlite) {
  say("the needle", "well");
  program_.set("LD_DEBUG=files");
  EXPECT_FALSE(has(program_.run({"conversation", "list"}).err, "libsqlite3"));
  EXPECT_TRUE(has(search({"needle"}).err, "libsqlite3"));  // the control
}

}  // namespace
}  // namespace agentd::testing
