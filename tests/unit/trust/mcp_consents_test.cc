// SPDX-License-Identifier: Apache-2.0
#include "core/trust/mcp_consents.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::TempDir;

class McpConsenting : public ::testing::Test {
 protected:
  Result<McpConsents> open() const { return McpConsents::open(file_, ::geteuid(), clock_); }
  static McpConsent::Tool tool(const std::string& name, const std::string& text) { return {name, hex(sha256(text))}; }

  TempDir temp_;
  ManualClock clock_;
  const std::string file_ = temp_.file("mcp_trust.json");
};

TEST_F(McpConsenting, ConsentsAreKeptByServerAndRepository) {
  auto consents = open();
  ASSERT_TRUE(consents) << consents.error().message;
  EXPECT_EQ(consents->find("a", ""), nullptr);
  ASSERT_TRUE(consents->change("a", "", [](McpConsent& entry) { entry.tools = {{tool("x", "1")}}; }));
  ASSERT_TRUE(consents->change("a", "/r 1 2 3", [](McpConsent& entry) { entry.definition = hex(sha256("d")); }));
  auto again = open();
  ASSERT_TRUE(again);
  ASSERT_EQ(again->entries().size(), 2u);
  ASSERT_NE(again->find("a", ""), nullptr);
  EXPECT_EQ((*again->find("a", "")->tools)[0].digest, hex(sha256("1")));
  EXPECT_FALSE(again->find("a", "/r 1 2 3")->tools) << "they were never listed";
  EXPECT_EQ(again->find("a", "/r 1 2 4"), nullptr) << "another repository in its place";
  struct stat info {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(McpConsenting, FilesOfAServerAreKept) {
  const std::vector<McpConsent::File> files{{"a.sh", hex(sha256("1"))}, {"b/c.py", hex(sha256("2"))}};
  ASSERT_TRUE(open()->change("a", "/r", [&](McpConsent& entry) { entry.files = files; }));
  EXPECT_EQ(open()->find("a", "/r")->files, files);
}

TEST_F(McpConsenting, ChangesOfAnotherProcessStay) {
  auto first = open(), second = open();
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->change("a", "", [](McpConsent& entry) { entry.tools.emplace(); }));
  ASSERT_TRUE(second->change("b", "", [](McpConsent& entry) { entry.tools.emplace(); }));
  EXPECT_EQ(second->entries().size(), 2u);
  auto gone = first->forget("a", "");
  ASSERT_TRUE(gone);
  EXPECT_TRUE(*gone);
  gone = first->forget("a", "");
  ASSERT_TRUE(gone);
  EXPECT_FALSE(*gone);
  EXPECT_EQ(open()->entries().size(), 1u);
}

TEST_F(McpConsenting, AFileThatIsNoneIsRefusedAndLeftAsItIs) {
  for (const std::string text : {"", "{}", "[]", R"({"mcp":2,"servers":[]})", R"({"mcp":1,"servers":[{}]})",
                                 R"({"mcp":1,"servers":[{"server":"a","definition":"short"}]})",
                                 R"({"mcp":1,"servers":[{"server":"a","tools":{"x":"no digest"}}]})"}) {
    temp_.write("mcp_trust.json", text);
    const auto opened = open();
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().code, Code::kCorrupt) << opened.error().message;
    EXPECT_NE(opened.error().message.find(file_), std::string::npos);
  }
  temp_.write("mcp_trust.json", R"({"mcp":1,"servers":[]})");
  auto opened = open();
  ASSERT_TRUE(opened);
  temp_.write("mcp_trust.json", "broken by another");
  EXPECT_FALSE(opened->change("a", "", [](McpConsent&) {}));
  EXPECT_EQ(opened->find("a", ""), nullptr) << "not kept, so not agreed to";
  ASSERT_EQ(::chmod(file_.c_str(), 0666), 0);
  EXPECT_EQ(open().error().code, Code::kDenied);
}

}  // namespace
}  // namespace agentd
