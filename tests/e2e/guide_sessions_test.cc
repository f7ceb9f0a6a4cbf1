// SPDX-License-Identifier: Apache-2.0
// docs/guide/sessions-that-learn.md, run: its files are written, its commands are run in order.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/e2e/guide_page.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

TEST(GuideSessions, ItsCommandsDoWhatItSays) {
  Program program;
  std::size_t commands = 0;
  std::string said;
  for (const Block& block : blocks_of_page(AGENTD_SESSIONS_GUIDE)) {
    if (!block.file.empty()) {
      program.file(block.file, block.text);
      continue;
    }
    if (block.language != "sh") continue;
    for (const std::string& line : lines_of(block.text)) {
      const std::vector<std::string> words = words_of(line);
      ASSERT_FALSE(words.empty());
      if (words[0] != "agentd") {
        ASSERT_EQ(std::system(("cd '" + program.project() + "' && " + line).c_str()), 0) << line;
        continue;
      }
      const Finished ran = program.run({words.begin() + 1, words.end()});
      EXPECT_EQ(ran.code, 0) << line << "\n" << ran.out << ran.err;
      said += line + "\n" + ran.out;
      ++commands;
    }
  }
  EXPECT_EQ(commands, 9u);
  EXPECT_TRUE(has(said, "settings.txt")) << said;
  EXPECT_TRUE(has(said, "design.md › Retry policy")) << said;
  EXPECT_TRUE(has(said, "\"confidence\":0.9")) << said;
}

}  // namespace
}  // namespace agentd::testing
