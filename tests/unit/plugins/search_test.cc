// SPDX-License-Identifier: Apache-2.0
// What glob and grep leave out, how they are narrowed, and where they end.
#include <algorithm>
#include <sstream>

#include "tests/unit/plugins/tools_fixture.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

class Searches : public Tools {
 protected:
  std::vector<std::string> found(std::string_view tool, const std::string& input) {
    std::vector<std::string> out;
    std::istringstream lines(good(tool, input));
    for (std::string line; std::getline(lines, line);) out.push_back(line);
    std::sort(out.begin(), out.end());
    return out;
  }
  using Names = std::vector<std::string>;
};

TEST_F(Searches, ReadEveryKindOfIgnoreFile) {
  for (const char* const name : {"a.txt", "b.txt", "c.txt", "d.txt", "sub/a.txt", "sub/c.txt"}) folder_.put(name, "x");
  folder_.put(".git/info/exclude", "a.txt\nd.txt\n");
  folder_.put(".gitignore", "b.txt\n!d.txt\n");
  folder_.put(".ignore", "c.txt\n");
  folder_.put("sub/.ignore", "!c.txt\n");
  const Names kept{"d.txt", "sub/c.txt"};
  EXPECT_EQ(found("glob", R"({"pattern":"**/*.txt"})"), kept);
  EXPECT_EQ(found("grep", R"({"pattern":"x","glob":"*.txt"})"), kept);
  EXPECT_EQ(found("glob", R"({"pattern":"*.txt","path":"sub"})"), Names{"sub/c.txt"})
      << "the files of the folders above count as well";
}

TEST_F(Searches, IncludeIgnoredFilesWhenAskedTo) {
  for (const char* const name : {"keep.txt", "out/a.txt", "node_modules/m/a.txt", "build/a.txt", "build/CMakeCache.txt",
                                 ".git/a.txt", ".hg/a.txt"})
    folder_.put(name, "needle");
  folder_.put(".gitignore", "out/\n");
  EXPECT_EQ(found("glob", R"({"pattern":"**/*.txt"})"), Names{"keep.txt"});
  const Names all{"build/CMakeCache.txt", "build/a.txt", "keep.txt", "node_modules/m/a.txt", "out/a.txt"};
  EXPECT_EQ(found("glob", R"({"pattern":"**/*.txt","include_ignored":true})"), all);
  EXPECT_EQ(found("grep", R"({"pattern":"needle","include_ignored":true})"), all);
}

TEST_F(Searches, KeepAFileOfAFolderWhoseFilesAreIgnored) {
  for (const char* const name : {"logs/a.txt", "logs/keep.txt", "logs/deep/a.txt", "gone/keep.txt"})
    folder_.put(name, "x");
  folder_.put(".gitignore", "logs/**\n!logs/keep.txt\ngone/\n!gone/keep.txt\n");
  EXPECT_EQ(found("glob", R"({"pattern":"**/*.txt"})"), Names{"logs/keep.txt"}) << "but not of an ignored folder";
}

TEST_F(Searches, DoNotFollowLinksThatLeadOut) {
  TempFolder outside;
  outside.put("secret.txt", "needle");
  folder_.put("a.txt", "needle");
  fs::create_symlink(outside.path + "/secret.txt", folder_.path + "/link.txt");
  fs::create_directory_symlink(outside.path, folder_.path + "/folder");
  EXPECT_EQ(found("glob", R"({"pattern":"**/*.txt","include_ignored":true})"), Names{"a.txt"});
  EXPECT_EQ(found("grep", R"({"pattern":"needle","include_ignored":true})"), Names{"a.txt"});
  bad("grep", R"({"pattern":"needle","path":"link.txt"})");
  bad("grep", R"({"pattern":"needle","path":"folder"})");
  bad("glob", R"({"pattern":"*","path":"folder"})");
}

TEST_F(Searches, AreNarrowedByType) {
  for (const char* const name : {"a.cc", "a.hpp", "a.py", "go.mod", "Rakefile", "a.txt"}) folder_.put(name, "needle");
  EXPECT_EQ(found("grep", R"({"pattern":"needle","type":"cpp"})"), (Names{"a.cc", "a.hpp"}));
  EXPECT_EQ(found("grep", R"({"pattern":"needle","type":"go"})"), Names{"go.mod"});
  EXPECT_EQ(found("grep", R"({"pattern":"needle","type":"ruby"})"), Names{"Rakefile"});
  EXPECT_EQ(found("grep", R"({"pattern":"needle","type":"cpp","glob":"*.cc"})"), Names{"a.cc"});
  EXPECT_NE(bad("grep", R"({"pattern":"needle","type":"cobol"})").find("\"type\" must be one of c, cpp, cs"),
            std::string::npos);
}

// Each name of the schema has its files: a type without a row would find everything.
TEST_F(Searches, KnowTheFilesOfEveryTypeThatTheyOffer) {
  folder_.put("nothing.of-these", "needle");
  const auto schema = JsonDocument::parse(host_.tool("grep")->input_schema);
  ASSERT_TRUE(schema);
  const JsonView types = schema->root()["properties"]["type"]["enum"];
  ASSERT_GT(types.size(), 10u);
  for (std::size_t i = 0; i < types.size(); ++i)
    EXPECT_EQ(good("grep", R"({"pattern":"needle","type":")" + std::string(types.at(i).string_or("")) + R"("})"),
              "(no match)\n");
}

TEST_F(Searches, ShowLinesBeforeOrAfter) {
  folder_.put("a.txt", "1\n2\nneedle\n4\n5\n");
  EXPECT_EQ(good("grep", R"({"pattern":"needle","output_mode":"content","before":1})"), "a.txt-2-2\na.txt:3:needle\n");
  EXPECT_EQ(good("grep", R"({"pattern":"needle","output_mode":"content","after":2})"),
            "a.txt:3:needle\na.txt-4-4\na.txt-5-5\n");
  EXPECT_EQ(good("grep", R"({"pattern":"needle","output_mode":"content","context":2,"after":0})"),
            "a.txt-1-1\na.txt-2-2\na.txt:3:needle\n");
}

TEST_F(Searches, ReturnAsManyPathsAsAskedFor) {
  for (int i = 0; i < 130; ++i) folder_.put("f" + std::to_string(i), "");
  EXPECT_NE(good("glob", R"({"pattern":"f*","limit":2})").find("[128 more files:"), std::string::npos);
  EXPECT_EQ(good("glob", R"({"pattern":"f*","limit":1000})").find("more file"), std::string::npos);
}

// The time of the fake host stands still, so that the call is late from its first step to its last.
TEST_F(Searches, GiveWhatTheyHaveBeforeTheirTimeIsOver) {
  folder_.put("a.txt", "needle");
  host_.timeout_ns = 1'000'000'000;
  const std::string early =
      "[the search ended early, since its time is over; there may be more: narrow path or glob]\n";
  EXPECT_EQ(good("grep", R"({"pattern":"needle"})"), "(no match)\n" + early);
  EXPECT_NE(good("glob", R"({"pattern":"*"})").find("ended early, since its time is over"), std::string::npos);
  host_.timeout_ns = 10'000'000'000;
  EXPECT_EQ(good("grep", R"({"pattern":"needle"})"), "a.txt\n");
}

TEST_F(Searches, HaveATimeOfTheirOwn) {
  // agentd's own time for a tool is ten minutes.
  for (const char* const name : {"glob", "grep"}) EXPECT_EQ(host_.tool(name)->timeout_ms, 60'000u) << name;
}

}  // namespace
}  // namespace agentd::testing
