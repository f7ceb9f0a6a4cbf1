// SPDX-License-Identifier: Apache-2.0
// Cursors of lists.
#include "core/mcp/pages.h"

#include <gtest/gtest.h>

namespace agentd::mcp {
namespace {

TEST(Pages, ACursorLeadsBackToItsPlace) {
  EXPECT_EQ(read_cursor("tools", write_cursor("tools", "50")), "50");
  EXPECT_EQ(read_cursor("tools", write_cursor("tools", "")), "");
}

TEST(Pages, ACursorOfAnotherListIsNone) {
  EXPECT_FALSE(read_cursor("prompts", write_cursor("tools", "50")));
  EXPECT_FALSE(read_cursor("tools", "50"));
  EXPECT_FALSE(read_cursor("tools", "%%%"));
  EXPECT_FALSE(read_cursor("tools", ""));
}

}  // namespace
}  // namespace agentd::mcp
