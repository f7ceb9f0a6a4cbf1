// SPDX-License-Identifier: Apache-2.0
#include "core/trust/hook_directories.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/trust/safe_path.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::TempDir;

class HookDirectories : public ::testing::Test {
 protected:
  HookDirectories() {
    make("home", 0755);
    make("home/hooks", 0755);
  }
  void make(const std::string& name, mode_t mode) const {
    ::mkdir(temp_.file(name).c_str(), 0700);
    ::chmod(temp_.file(name).c_str(), mode);
  }
  std::string put(const std::string& name, mode_t mode = 0644) const {
    const std::string path = temp_.write("home/hooks/" + name, "bytes");
    ::chmod(path.c_str(), mode);
    return path;
  }
  std::string hooks() const { return temp_.file("home/hooks"); }
  HookScan scan(std::vector<std::string> disable = {}, Precedence precedence = Precedence::kUser) const {
    const std::vector<HookDirectory> directories{{hooks(), precedence}};
    return scan_hook_directories(directories, disable, ::geteuid());
  }
  static std::vector<std::string> names(const HookScan& scan) {
    std::vector<std::string> out;
    for (const HookFile& file : scan.files) out.push_back(file.name);
    return out;
  }
  static std::vector<std::string> names(const std::vector<HookName>& hooks) {
    std::vector<std::string> out;
    for (const HookName& hook : hooks) out.push_back(hook.name);
    return out;
  }
  static void expect_refused(const HookScan& scan, const std::string& says) {
    EXPECT_TRUE(scan.files.empty());
    ASSERT_EQ(scan.problems.size(), 1u);
    EXPECT_NE(scan.problems[0].message.find(says), std::string::npos) << scan.problems[0].message;
  }

  TempDir temp_;
};

TEST_F(HookDirectories, FilesAreToldByNameAndComeInItsOrder) {
  for (const char* name :
       {"b.so", "a.so", "c.dll", "d.yaml", "e.yml", ".hidden.so", "f.so.disable", "a.hook.json", "README", "notes.txt"})
    put(name);
  put("script", 0755);
  const HookScan found = scan();
  EXPECT_EQ(names(found), (std::vector<std::string>{"a", "b", "c", "d", "e", "script"}));
  EXPECT_EQ(found.files[0].kind, HookKind::kNative);
  EXPECT_EQ(found.files[3].kind, HookKind::kDeclarative);
  EXPECT_EQ(found.files[5].kind, HookKind::kExecutable);
  EXPECT_EQ(found.files[0].sidecar, "bytes");
  EXPECT_EQ(found.files[1].sidecar, "");
  EXPECT_TRUE(found.problems.empty());
}

TEST_F(HookDirectories, WhatLooksLikeAHookAndIsNoneIsAProblem) {
  const auto write = [&](const std::string& name, const std::string& text) {
    temp_.write("home/hooks/" + name, text);
    ::chmod((hooks() + "/" + name).c_str(), 0644);
  };
  const std::string elf(
      "\x7f"
      "ELF\2\1\1\0\0\0\0\0\0\0\0\0",
      16);
  write("a.YAML", "");
  write("b.yml.TXT", "");
  write("c", "#!/bin/sh\n");
  write("d", elf + std::string("\3\0", 2));
  write("e.json", "{\"hooks\": {}}");
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{{"f.o", elf + std::string("\1\0", 2)},
                                                        {"libx.so.1", elf + std::string("\3\0", 2)},
                                                        {"g.json", "{\"words\": []}"},
                                                        {"h.txt", "words"},
                                                        {"i~", "#!/bin/sh\n"},
                                                        {"j", "#"},
                                                        {"k", ""}})
    write(name, text);
  EXPECT_EQ(::mkfifo((hooks() + "/pipe").c_str(), 0644), 0);
  EXPECT_EQ(::symlink("nowhere", (hooks() + "/dangling").c_str()), 0);
  const HookScan found = scan();
  EXPECT_TRUE(found.files.empty());
  std::vector<std::string> told;
  for (const HookProblem& each : found.problems) {
    EXPECT_TRUE(each.no_hook) << each.message;
    EXPECT_TRUE(each.message.starts_with(each.path + " does not run: ")) << each.message;
    told.push_back(each.name);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"a", "b", "c", "d", "e.json"}));
  EXPECT_EQ(names(scan({"c"}).disabled), std::vector<std::string>{"c"});
}

TEST_F(HookDirectories, AreMissedOnlyWhereASettingNamesThem) {
  HookDirectory named{temp_.file("home/none"), Precedence::kUser};
  named.setting = "config.yaml:3: hooks.dirs";
  EXPECT_TRUE(scan_hook_directories(std::vector{HookDirectory{named.path}}, {}, ::geteuid()).problems.empty());
  expect_refused(scan_hook_directories(std::vector{named}, {}, ::geteuid()),
                 "config.yaml:3: hooks.dirs: " + named.path + " does not exist");
  named.path = temp_.write("home/a_file", "text");
  expect_refused(scan_hook_directories(std::vector{named}, {}, ::geteuid()), "hooks.dirs: ");
}

TEST_F(HookDirectories, ComeInTheOrderOfTheirList) {
  put("z.so");
  make("other", 0755);
  temp_.write("other/a.so", "x");
  const std::vector<HookDirectory> directories{{hooks(), Precedence::kSystem},
                                               {temp_.file("nowhere"), Precedence::kUser},
                                               {temp_.file("other"), Precedence::kProject}};
  const HookScan found = scan_hook_directories(directories, {}, ::geteuid());
  EXPECT_EQ(names(found), (std::vector<std::string>{"z", "project/a"}));
  EXPECT_TRUE(found.problems.empty());
}

TEST_F(HookDirectories, GlobsSwitchHooksOff) {
  put("audit_log.so");
  put("auto_compact.so");
  put("redact.so");
  const HookScan found = scan({"au*_log", "red?ct"});
  EXPECT_EQ(names(found), std::vector<std::string>{"auto_compact"});
  EXPECT_EQ(names(found.disabled), (std::vector<std::string>{"audit_log", "redact"}));
}

TEST_F(HookDirectories, GlobMatchesAProjectsHookByBothNames) {
  put("x.so");
  EXPECT_EQ(names(scan({"project/x"}, Precedence::kProject).disabled), std::vector<std::string>{"project/x"});
  EXPECT_EQ(names(scan({"x"}, Precedence::kProject).disabled), std::vector<std::string>{"project/x"});
}

TEST_F(HookDirectories, WhatIsOffIsKnownByItsDirectory) {
  put("x.so");
  for (const Precedence from : {Precedence::kSystem, Precedence::kProject, Precedence::kUser})
    EXPECT_EQ(scan({"x"}, from).disabled.at(0).precedence, from);
}

TEST_F(HookDirectories, WritableFileIsNamedWithTheRemedy) {
  const std::string path = put("x.so", 0666);
  expect_refused(scan(), path + " is world-writable, ignored: chmod go-w " + path);
  ::chmod(path.c_str(), 0664);
  expect_refused(scan(), path + " is group-writable, ignored: chmod go-w " + path);
}

TEST_F(HookDirectories, FileOfAnotherUserIsRefused) {
  const std::string path = put("x.so");
  if (::chown(path.c_str(), 12345, static_cast<gid_t>(-1)) != 0) GTEST_SKIP() << "needs root to give a file away";
  expect_refused(scan(), path + " belongs to uid 12345");
}

TEST_F(HookDirectories, SymbolicLinkIsRefused) {
  const std::string real = temp_.write("real.so", "x");
  std::filesystem::create_symlink(real, hooks() + "/x.so");
  expect_refused(scan(), "is a symbolic link, ignored: put the file itself there");
}

TEST_F(HookDirectories, FifoNeitherHangsNorCounts) {
  ASSERT_EQ(::mkfifo((hooks() + "/x.so").c_str(), 0600), 0);
  expect_refused(scan(), "is not a regular file");
}

TEST_F(HookDirectories, UnsafeSidecarIsNotRead) {
  put("x.so");
  put("x.hook.json", 0666);
  const HookScan found = scan();
  ASSERT_EQ(found.files.size(), 1u);
  EXPECT_EQ(found.files[0].sidecar, "");
  EXPECT_NE(found.files[0].sidecar_problem.find("x.hook.json is world-writable"), std::string::npos);
}

TEST_F(HookDirectories, WritableDirectoryIsNamed) {
  put("x.so");
  make("home/hooks", 0777);
  expect_refused(scan(), hooks() + " is world-writable");
  make("home/hooks", 0775);
  expect_refused(scan(), hooks() + " is group-writable");
}

TEST_F(HookDirectories, WritableParentIsNamed) {
  put("x.so");
  make("home", 0777);
  expect_refused(scan(), temp_.file("home") + " is world-writable");
}

TEST_F(HookDirectories, ADirectoryThatIsNotThereIsNoProblemOfItsParents) {
  make("home", 0777);
  const std::vector<HookDirectory> directories{{temp_.file("home/none"), Precedence::kProject}};
  EXPECT_TRUE(scan_hook_directories(directories, {}, ::geteuid()).problems.empty());
}

TEST_F(HookDirectories, StickyParentOfRootIsPassedThrough) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make such a directory";
  put("x.so");
  make("home", 01777);
  EXPECT_EQ(scan().files.size(), 1u);
}

TEST_F(HookDirectories, StickyDirectoryItselfIsRefused) {
  put("x.so");
  make("home/hooks", 01777);
  expect_refused(scan(), hooks() + " is world-writable");
}

TEST_F(HookDirectories, ParentOfAnotherUserIsRefused) {
  put("x.so");
  if (::chown(temp_.file("home").c_str(), 12345, static_cast<gid_t>(-1)) != 0)
    GTEST_SKIP() << "needs root to give a directory away";
  expect_refused(scan(), temp_.file("home") + " belongs to uid 12345");
}

// Owner, mode of the parent, mode of the directory, mode of the file: the one safe way is to be safe
// everywhere.
TEST_F(HookDirectories, EveryUnsafeCombinationIsRefused) {
  const std::string path = put("x.so");
  int cells = 0;
  for (const mode_t parent : {0700u, 0755u, 0775u, 0757u, 0777u})
    for (const mode_t directory : {0700u, 0755u, 0770u, 0777u, 01777u})
      for (const mode_t file : {0400u, 0600u, 0644u, 0755u, 0620u, 0602u, 0666u}) {
        make("home", parent);
        make("home/hooks", directory);
        ::chmod(path.c_str(), file);
        const bool safe = ((parent | directory | file) & 022u) == 0;
        const HookScan found = scan();
        EXPECT_EQ(found.files.size(), safe ? 1u : 0u) << std::oct << parent << " " << directory << " " << file;
        EXPECT_EQ(found.problems.size(), safe ? 0u : 1u);
        ++cells;
      }
  EXPECT_EQ(cells, 175);
}

TEST_F(HookDirectories, WhatWasCheckedIsWhatIsOpen) {
  const std::string path = put("x.so");
  HookScan found = scan();
  ASSERT_EQ(found.files.size(), 1u);
  std::filesystem::remove(path);
  temp_.write("home/hooks/x.so", "swapped");
  const auto bytes = read_fd(found.files[0].fd.get(), 100, path);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, "bytes");
}

TEST_F(HookDirectories, LinkOfTheUsersOwnOnTheWayIsFollowed) {
  put("x.so");
  std::filesystem::create_symlink("home", temp_.file("link"));
  const std::vector<HookDirectory> directories{{temp_.file("link/hooks"), Precedence::kUser}};
  EXPECT_EQ(scan_hook_directories(directories, {}, ::geteuid()).files.size(), 1u);
}

TEST_F(HookDirectories, LinkIntoAnUnsafePlaceIsRefused) {
  put("x.so");
  make("home", 0777);
  std::filesystem::create_symlink(temp_.file("home/hooks"), temp_.file("link"));
  const std::vector<HookDirectory> directories{{temp_.file("link"), Precedence::kUser}};
  expect_refused(scan_hook_directories(directories, {}, ::geteuid()), "home is world-writable");
}

TEST_F(HookDirectories, CircleOfLinksEnds) {
  std::filesystem::create_symlink(temp_.file("b"), temp_.file("a"));
  std::filesystem::create_symlink(temp_.file("a"), temp_.file("b"));
  const std::vector<HookDirectory> directories{{temp_.file("a"), Precedence::kUser}};
  expect_refused(scan_hook_directories(directories, {}, ::geteuid()), "leads in a circle");
}

TEST_F(HookDirectories, FileInPlaceOfTheDirectoryIsSaid) {
  put("x.so");
  const std::vector<HookDirectory> directories{{hooks() + "/x.so", Precedence::kUser}};
  expect_refused(scan_hook_directories(directories, {}, ::geteuid()), "is not a directory");
}

TEST_F(HookDirectories, RelativePathIsRefused) {
  const std::vector<HookDirectory> directories{{"hooks", Precedence::kUser}};
  expect_refused(scan_hook_directories(directories, {}, ::geteuid()), "must be an absolute path");
}

TEST(SafeDirectory, DotsStepBackAsTheKernelDoes) {
  const TempDir temp;
  std::filesystem::create_directories(temp.file("a/b"));
  EXPECT_TRUE(open_safe_directory(temp.file("a/./b/../b"), ::geteuid()));
  EXPECT_TRUE(open_safe_directory("/../" + temp.file("a"), ::geteuid()));
}

}  // namespace
}  // namespace agentd
