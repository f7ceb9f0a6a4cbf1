// SPDX-License-Identifier: Apache-2.0
#include "core/trust/script_copy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/base/file.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

unsigned mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST(ScriptCopy, IsForInterpretersThatAskForTheRealPath) {
  for (const char* const line :
       {"#!/usr/bin/node\n", "#!/usr/bin/env node\n", "#! /usr/bin/env -S node --no-warnings\n",
        "#!/usr/bin/env -S A=1 bun run\n", "#!/opt/x/deno\n", "#!/usr/bin/nodejs"})
    EXPECT_TRUE(wants_real_file(line)) << line;
  for (const char* const line :
       {"#!/bin/sh\n", "#!/usr/bin/env python3\n", "#!/usr/bin/env\n", "#!\n", "", "node\n", "#!/bin/sh node\n",
        "\x7f"
        "ELF",
        "#!/usr/bin/nodest\n"})
    EXPECT_FALSE(wants_real_file(line)) << line;
}

TEST(ScriptCopy, IsTheApprovedBytesUnderTheirNameForTheUserAlone) {
  const TempDir directory;
  const std::string own = directory.file("private");
  const PrivateScript script("#!/usr/bin/node\n1", directory.file("guard.mjs"), own);
  std::string folder;
  {
    const auto copy = script.place();
    ASSERT_TRUE(copy) << copy.error().message;
    folder = fs::path(copy->path).parent_path().string();
    EXPECT_EQ(fs::path(copy->path).filename(), "guard.mjs");
    EXPECT_EQ(*read_file(copy->path, 100), "#!/usr/bin/node\n1");
    EXPECT_EQ(mode_of(copy->path), 0500u);
    EXPECT_EQ(mode_of(folder), 0700u);
    EXPECT_EQ(mode_of(own), 0700u);
    const auto other = script.place();
    ASSERT_TRUE(other);
    EXPECT_NE(other->path, copy->path);
  }
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(fs::is_empty(own));
}

TEST(ScriptCopy, KnowsTheKindOfModuleFromTheOriginalsPackage) {
  const TempDir directory;
  const std::string hooks = directory.file("p/hooks");
  ASSERT_TRUE(make_directories(hooks));
  const auto package_of = [&] {
    const auto copy = PrivateScript("#!/usr/bin/node\n", hooks + "/a.js", directory.file("own")).place();
    return *read_file((fs::path(copy->path).parent_path() / "package.json").string(), 1000);
  };
  EXPECT_EQ(package_of(), "{}");
  const std::string package = directory.file("p/package.json");
  ASSERT_TRUE(write_file_atomically(package, R"({"type":"module","imports":{"#x":"./evil.js"}})", 0600));
  EXPECT_EQ(package_of(), R"({"type":"module"})");
  ASSERT_TRUE(write_file_atomically(hooks + "/package.json", R"({"name":"h"})", 0600));
  EXPECT_EQ(package_of(), "{}");
}

TEST(ScriptCopy, RemovesWhatADeadProcessLeftADayAgo) {
  const TempDir directory;
  const std::string own = directory.file("private");
  for (const char* const name : {"/script-old", "/script-new", "/hook-old"}) ASSERT_TRUE(make_directories(own + name));
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(48);
  fs::last_write_time(own + "/script-old", old);
  fs::last_write_time(own + "/hook-old", old);
  const PrivateScript script("#!/usr/bin/node\n", directory.file("a.js"), own);
  EXPECT_FALSE(fs::exists(own + "/script-old"));
  EXPECT_TRUE(fs::exists(own + "/script-new"));
  EXPECT_TRUE(fs::exists(own + "/hook-old"));
}

TEST(ScriptCopy, LiesAmongTheTemporaryFilesWhereNothingElseCanBeWritten) {
  const TempDir directory;
  std::string path;
  {
    const auto copy = PrivateScript("#!/usr/bin/node\n1", directory.file("guard.mjs"), "/proc/none/private").place();
    ASSERT_TRUE(copy) << copy.error().message;
    path = copy->path;
    EXPECT_EQ(fs::path(path).filename(), "guard.mjs");
    EXPECT_EQ(mode_of(path), 0500u);
    EXPECT_EQ(mode_of(fs::path(path).parent_path().string()), 0700u);
    EXPECT_EQ(*read_file(path, 100), "#!/usr/bin/node\n1");
  }
  EXPECT_FALSE(fs::exists(fs::path(path).parent_path()));
  // A link in the private directory's place is no place that cannot be written: somebody put it there.
  fs::create_symlink("/tmp", directory.file("link"));
  EXPECT_FALSE(PrivateScript("#!/usr/bin/node\n1", directory.file("guard.mjs"), directory.file("link")).place());
}

}  // namespace
}  // namespace agentd
