// SPDX-License-Identifier: Apache-2.0
#pragma once
// tools_fixture.h - the bundled tools in the fake host, with files of the test's own.
//
// Threading: one test thread.

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "tests/unit/plugins/plugin_fixture.h"

namespace agentd::testing {

class Tools : public ::testing::Test {
 protected:
  Tools() : host_(load_plugin("workspace_tools")), services_(host_, folder_.path) {}
  ~Tools() override { EXPECT_EQ(host_.breaches(), std::vector<std::string>{}); }
  void SetUp() override {
    const outcome got = host_.create("{}");
    ASSERT_EQ(got.status, AGENTD_OK) << got.error;
    host_.turn_start();  // tells the working directory
  }

  // The text of a tool that did its work.
  std::string good(std::string_view tool, const std::string& input) {
    const outcome got = host_.invoke(tool, input);
    EXPECT_EQ(got.status, AGENTD_OK) << got.error;
    EXPECT_FALSE(got.tool_failed()) << tool << input << ": " << got.output();
    return got.output();
  }
  // The sentence of a tool that refused.
  std::string bad(std::string_view tool, const std::string& input) {
    const outcome got = host_.invoke(tool, input);
    EXPECT_EQ(got.status, AGENTD_OK) << got.error;
    EXPECT_TRUE(got.tool_failed()) << tool << input << ": " << got.output();
    return got.output();
  }
  static std::string quoted(std::string_view text) {
    JsonWriter out;
    return std::string(out.string(text).text());
  }
  std::string edit(const std::string& path, std::string_view from, std::string_view to, bool all = false) {
    return R"({"path":")" + path + R"(","old_string":)" + quoted(from) + R"(,"new_string":)" + quoted(to) +
           (all ? R"(,"replace_all":true})" : "}");
  }
  static void set_time(const std::string& path, long seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  }

  TempFolder folder_;
  fake_host host_;
  RealServices services_;
};

}  // namespace agentd::testing
