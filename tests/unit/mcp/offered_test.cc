// SPDX-License-Identifier: Apache-2.0
// Which tools of plugins a client is offered, and what it hears where a person would be asked.
#include <gtest/gtest.h>

#include "core/mcp/client.h"

namespace agentd::mcp {
namespace {

Tool tool(const std::string& name, std::uint32_t flags) {
  Tool out;
  out.name = name;
  out.flags = flags;
  return out;
}

TEST(Offered, AToolThatOnlyReadsIs) {
  EXPECT_TRUE(is_offered(tool("grep", AGENTD_TOOL_READ_ONLY), {}));
  EXPECT_FALSE(is_offered(tool("bash", 0), {}));
}

TEST(Offered, AnotherOneIsWhereTheSettingsNameIt) {
  EXPECT_TRUE(is_offered(tool("bash", 0), {"bash"}));
  EXPECT_TRUE(is_offered(tool("notes_add", 0), {"grep", "notes_*"}));
  EXPECT_FALSE(is_offered(tool("bash", 0), {"bash_output"}));
  EXPECT_FALSE(is_offered(tool("write_file", 0), {"notes_*"}));
}

TEST(Offered, NobodyAnswersAQuestion) {
  NobodyThere nobody;
  EXPECT_FALSE(nobody.is_present());
  AskedBy by;
  by.hook = "guard";
  const PermissionAnswer answer = nobody.ask({}, tool("bash", 0), {}, by);
  EXPECT_FALSE(answer.allowed);
  EXPECT_FALSE(answer.given);
  EXPECT_NE(answer.reason.find("the hook guard"), std::string::npos);
  EXPECT_NE(answer.reason.find("permissions.allow"), std::string::npos);
}

}  // namespace
}  // namespace agentd::mcp
