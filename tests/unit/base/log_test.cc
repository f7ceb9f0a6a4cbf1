// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/base/file.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::TempDir;

// The entry after its time, process and level.
std::string written(std::string_view text) {
  const TempDir dir;
  const std::string path = dir.file("a.log");
  make_file_log(path, LogLevel::kInfo)->write(LogLevel::kWarning, "hooks", text);
  const std::string all = read_file(path, 1u << 20).value_or("");
  const std::size_t at = all.find("warning hooks: ");
  return at == std::string::npos ? all : all.substr(at + 15);
}

TEST(FileLog, CharactersThatATerminalDoesNotShowAsThemselvesAreVisible) {
  EXPECT_EQ(written("a\xC2\x9B"
                    "2J b\xE2\x80\xAE"
                    "c\x1B[31m\rd\x7F e\xE2\x80\x8B\xEF\xBB\xBF"),
            "a\\x9b2J b\\u{202e}c\\x1b[31m\\x0dd\\x7f e\\u{200b}\\u{feff}\n");
  EXPECT_EQ(written("Grüße, 世界 👋\tend"), "Grüße, 世界 👋\tend\n");
  EXPECT_EQ(written("cut \xE4\xB8"), "cut \xEF\xBF\xBD\n");
}

TEST(FileLog, NoTextPassesForAnEntryOfItsOwn) {
  EXPECT_EQ(written("one\n2026-01-01 1 warning host: forged\n\nend"),
            "one\n  2026-01-01 1 warning host: forged\n  \n  end\n");
}

TEST(CheckLogFile, SaysWhyNothingCanBeWrittenAndMakesNothing) {
  const TempDir dir;
  EXPECT_TRUE(check_log_file(dir.file("not/yet/there.log")));
  EXPECT_FALSE(std::filesystem::exists(dir.file("not")));
  EXPECT_TRUE(check_log_file(dir.write("a.log", "x")));
  EXPECT_EQ(read_file(dir.file("a.log"), 10).value_or(""), "x");
  for (const auto& [path, why] :
       {std::pair{dir.file("a.log/b.log"), "Not a directory"}, std::pair{dir.file("."), "Is a directory"},
        std::pair{dir.file("a.log") + "/x/y", "Not a directory"}}) {
    const auto checked = check_log_file(path);
    ASSERT_FALSE(checked) << path;
    EXPECT_EQ(checked.error().message, "logging is off: " + path + " cannot be written (" + why +
                                           "); set log.file to another path, or log.level to off");
  }
}

}  // namespace
}  // namespace agentd
