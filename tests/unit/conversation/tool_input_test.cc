// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/tool_input.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/codec/json.h"
#include "core/conversation/record.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using namespace std::string_view_literals;

const std::vector<std::string> kKeys{"path"};
const InputPaths kPaths{kKeys, "/work/p", "/work/p", "/home/u"};

std::string path_of(std::string_view path, const InputPaths& paths = kPaths) {
  JsonWriter out;
  out.begin_object().member("path", path).end_object();
  const auto input = ToolInput::make(out.text(), paths);
  if (!input) return "refused: " + input.error().message;
  return std::string(JsonDocument::parse(input->text())->root()["path"].string_or("?"));
}

TEST(ToolInput, OfNoBytesIsAnEmptyObject) {
  EXPECT_EQ(ToolInput().text(), "{}");
  EXPECT_EQ(ToolInput::make("")->text(), "{}");
  EXPECT_FALSE(ToolInput::make(" "));
}

TEST(ToolInput, GivesAPlaceOneSpelling) {
  for (const char* const path :
       {"migrations/1.sql", "./migrations//1.sql", "src/../migrations/1.sql", "/work/p/migrations/1.sql",
        "/work/./p/x/../migrations/1.sql", "../p/migrations/1.sql", "migrations/1.sql/", "migrations/./1.sql"})
    EXPECT_EQ(path_of(path), "migrations/1.sql") << path;
  for (const char* const path : {".", "./", "/work/p", "/work/p/", "a/..", "../p"})
    EXPECT_EQ(path_of(path), ".") << path;
  EXPECT_EQ(path_of("../q/a"), "/work/q/a");
  EXPECT_EQ(path_of("/work/pq"), "/work/pq");
  EXPECT_EQ(path_of("../../../../etc/passwd"), "/etc/passwd");
  EXPECT_EQ(path_of(""), "");
}

TEST(ToolInput, FindsARootUnderItsOtherNames) {
  const testing::TempDir temp;
  const std::string first = temp.file("first"), second = temp.file("second"), other = temp.file("other");
  for (const std::string& folder : {first, second, other}) ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(::symlink(first.c_str(), temp.file("to_first").c_str()), 0);
  ASSERT_EQ(::symlink(second.c_str(), temp.file("to_second").c_str()), 0);
  ASSERT_EQ(::symlink("../second", (first + "/inner").c_str()), 0);
  const std::vector<std::string> roots{first, second};
  const InputPaths paths{kKeys, first, first, "", roots};
  EXPECT_EQ(path_of(temp.file("to_first"), paths), ".");
  EXPECT_EQ(path_of(temp.file("to_first") + "/a/b", paths), "a/b");
  EXPECT_EQ(path_of("/proc/self/root" + first + "/a", paths), "a");
  EXPECT_EQ(path_of(temp.file("to_second") + "/a", paths), second + "/a");
  EXPECT_EQ(path_of("/proc/self/root" + second, paths), second);
  // Links below a root, places outside the roots, and missing files stay unchanged.
  EXPECT_EQ(path_of("inner/a", paths), "inner/a");
  EXPECT_EQ(path_of(first + "/inner/a", paths), "inner/a");
  EXPECT_EQ(path_of(other + "/a", paths), other + "/a");
  EXPECT_EQ(path_of("/no/such/folder", paths), "/no/such/folder");
  const std::vector<std::string> none{"/no/such/root"};
  EXPECT_EQ(path_of(other, {kKeys, first, first, "", none}), other);
}

TEST(ToolInput, KnowsTheHome) {
  EXPECT_EQ(path_of("~/.ssh/id"), "/home/u/.ssh/id");
  EXPECT_EQ(path_of("~"), "/home/u");
  EXPECT_EQ(path_of("~/../../work/p/a"), "a");
  EXPECT_EQ(path_of("~other/a"), "./~other/a");
  EXPECT_EQ(path_of("./~/a"), "./~/a");
}

TEST(ToolInput, IsAbsoluteWhereToolsStartElsewhereThanTheSession) {
  const InputPaths paths{kKeys, "/data", "/work/p", ""};
  EXPECT_EQ(path_of("a", paths), "/data/a");
  EXPECT_EQ(path_of("/work/p/a", paths), "/work/p/a");
}

TEST(ToolInput, LeavesOtherMembersAlone) {
  const auto input = ToolInput::make(R"({"path":"./a","content":"./b","more":{"path":"./c"}})", kPaths);
  ASSERT_TRUE(input);
  EXPECT_EQ(input->text(), R"({"path":"a","content":"./b","more":{"path":"./c"}})");
  EXPECT_EQ(ToolInput::make(R"({"path":["./a"]})", kPaths)->text(), R"({"path":["./a"]})");
}

TEST(ToolInput, OfATextIsItselfAgain) {
  for (const char* const path : {"a", "./~", "~", "../x", "/", "/work", "a//b/../c"}) {
    const std::string once = path_of(path);
    EXPECT_EQ(path_of(once), once) << path;
  }
}

TEST(ToolInput, StandInIsAnObjectWhateverWasWritten) {
  for (const std::string_view text : {"{\"a\":1,\"a\":2}"sv, "\xff\xfe"sv, "{}\0"sv, "\n\"\\"sv, ""sv}) {
    const auto read = ToolInput::make(ToolInput::stand_in(text));
    ASSERT_TRUE(read) << ::testing::PrintToString(text);
    EXPECT_EQ(read->text(), ToolInput::stand_in(text));
  }
  EXPECT_LT(ToolInput::stand_in(std::string(1 << 20, 'x')).size(), 20'000u);
}

// Blocks as an older agentd may have stored them.
TEST(ToolInput, OfAnOldLogIsReadableAndOtherwiseAsItWas) {
  const auto reread = [](std::string json) {
    MessageRecord record;
    record.message.role = Role::kAssistant;
    record.message.blocks = {Block::tool_use("c1", "bash", std::move(json))};
    const auto read = read_message(write_message(record));
    return read ? read->message.blocks.at(0).json : "unreadable";
  };
  for (const char* const kept :
       {"", "{}", "{ \"a\" : 1,\n \"b\":[9007199254740993, 1.50] }", "{\"a\":1,\"a\":2}", "{\"a\":\"\\ud83d\\ude00\"}"})
    EXPECT_EQ(reread(kept), kept);
  for (const std::string_view bad :
       {"{\"a\":\"\\ud800\"}"sv, "\xEF\xBB\xBF{}"sv, "{}\0"sv, "{\"a\":"sv, "[1]"sv, "nonsense"sv})
    EXPECT_EQ(reread(std::string(bad)), ToolInput::stand_in(bad)) << ::testing::PrintToString(bad);
}

}  // namespace
}  // namespace agentd
