// SPDX-License-Identifier: Apache-2.0
// The samples of docs/reference/hooks-yaml.md: each loads; each line of its tables is true.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/declarative/declarative.h"

namespace agentd {
namespace {

std::string page() {
  std::ifstream in(AGENTD_DOCS "/reference/hooks-yaml.md", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What stands between a line "```kind" and the next "```".
std::vector<std::string> blocks(const std::string& text, const std::string& kind) {
  const std::string begin = "\n```" + kind + "\n", end = "\n```\n";
  std::vector<std::string> out;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    const std::size_t stop = text.find(end, at - 1);
    if (stop == std::string::npos) break;
    out.push_back(text.substr(at, stop - at + 1));
    at = stop + 1;
  }
  return out;
}

TEST(HooksYamlPage, HasOnlySamplesThatLoad) {
  const std::vector<std::string> samples = blocks(page(), "yaml");
  EXPECT_GE(samples.size(), 10u);
  for (const std::string& sample : samples) {
    const auto hooks = read_declarative(sample, "sample.yaml", "sample", Precedence::kUser);
    EXPECT_TRUE(hooks) << sample << (hooks ? "" : hooks.error().message);
    EXPECT_FALSE(hooks && hooks->empty()) << sample;
  }
}

TEST(HooksYamlPage, HasOnlyExpressionsThatAreRead) {
  const std::vector<std::string> samples = blocks(page(), "expression");
  EXPECT_GE(samples.size(), 1u);
  for (const std::string& sample : samples) {
    std::size_t at = 0;
    while (at < sample.size()) {
      const std::size_t end = sample.find('\n', at);
      const std::string line = sample.substr(at, end - at);
      const auto expression = Expression::parse(line, "sample", 1, 1);
      EXPECT_TRUE(expression) << line << "\n" << (expression ? "" : expression.error().message);
      at = end + 1;
    }
  }
}

TEST(HooksYamlPage, NamesEveryKey) {
  const std::string text = page();
  for (const char* const key : {"name",
                                "on",
                                "matcher",
                                "if",
                                "when",
                                "do",
                                "command",
                                "url",
                                "extension",
                                "headers",
                                "allowed_environment",
                                "dialect",
                                "timeout",
                                "on_failure",
                                "guard",
                                "priority",
                                "once",
                                "async",
                                "observe",
                                "shadow",
                                "strict_output",
                                "sandbox",
                                "environment",
                                "working_directory",
                                "enabled",
                                "action",
                                "reason",
                                "message",
                                "input",
                                "output",
                                "messages",
                                "replace_messages",
                                "summary",
                                "custom_instructions",
                                "strategy",
                                "keep_tokens",
                                "model",
                                "additional_context",
                                "system_message",
                                "permission",
                                "tools",
                                "callback",
                                "then"})
    EXPECT_NE(text.find("| `" + std::string(key) + "`"), std::string::npos) << key;
}

}  // namespace
}  // namespace agentd
