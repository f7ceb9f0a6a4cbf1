// SPDX-License-Identifier: Apache-2.0
#include "core/app/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <unistd.h>

#include <string>

#include "core/base/file.h"

namespace agentd::app {
namespace {

// A signal may end the program between two writes.
TEST(OutputTest, NoWriteEndsWithinAStyle) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_DIRECT), 0);  // one read gives what one write gave
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  constexpr std::size_t kWriteBytes = PIPE_BUF;
  std::string expected;
  {
    Output out(writer.get(), true, true);
    for (const std::size_t before : {kWriteBytes - 10, kWriteBytes - 3, kWriteBytes - 1, kWriteBytes, std::size_t{7}}) {
      for (const std::string& part : {std::string(before, '.'), out.styled("1", "some words"), std::string(40, ',')}) {
        out.print(part);
        expected += part;
      }
    }
  }
  writer.reset();
  std::string all, piece(PIPE_BUF, '\0');
  for (ssize_t got = 0; (got = ::read(reader.get(), piece.data(), piece.size())) > 0;) {
    const std::string wrote = piece.substr(0, static_cast<std::size_t>(got));
    const std::size_t begins = wrote.rfind("\x1b[1m"), ends_at = wrote.rfind("\x1b[0m");
    EXPECT_TRUE(begins == std::string::npos || (ends_at != std::string::npos && ends_at > begins)) << wrote;
    all += wrote;
  }
  EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace agentd::app
