// SPDX-License-Identifier: Apache-2.0
// What the file tools say where the modes of files, and not the workspace, are why they may not be accessed.
#include "plugins/workspace_tools/closed.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/plugins/tools_fixture.h"

namespace agentd::testing {
namespace {

constexpr uid_t kNobody = 65534;

// A user to whom modes apply: they do not to root.
class Closed : public Tools {
 protected:
  void become_a_user() {
    if (::geteuid() != 0) return;
    ASSERT_EQ(::chown(folder_.path.c_str(), kNobody, kNobody), 0);
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder_.path))
      ASSERT_EQ(::chown(each.path().c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(::seteuid(kNobody), 0);
    changed_ = true;
  }
  void TearDown() override {
    if (changed_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
    for (const char* name : {"a.txt", "none.txt", "open", "shut"}) ::chmod((folder_.path + "/" + name).c_str(), 0755);
  }
  void mode(const std::string& name, mode_t mode) { ASSERT_EQ(::chmod((folder_.path + "/" + name).c_str(), mode), 0); }

 private:
  bool changed_ = false;
};

TEST_F(Closed, AWriteProtectedFileIsNotReplaced) {
  folder_.put("a.txt", "one\n");
  mode("a.txt", 0444);
  become_a_user();
  good("read_file", R"({"path":"a.txt"})");
  const std::string said =
      "a.txt is write-protected (mode 0444): run chmod u+w on it first, if it is meant to be changed";
  EXPECT_EQ(bad("edit_file", edit("a.txt", "one", "two")), said);
  EXPECT_EQ(bad("write_file", R"({"path":"a.txt","content":"two\n"})"), said);
  EXPECT_EQ(folder_.get("a.txt"), "one\n");
  mode("a.txt", 0644);
  good("edit_file", edit("a.txt", "one", "two"));
  EXPECT_EQ(folder_.get("a.txt"), "two\n");
}

TEST_F(Closed, AFolderThatMayNotBeWrittenToIsNamedAsTheReason) {
  folder_.put("open/a.txt", "one\n");
  folder_.put("shut/b.txt", "two\n");
  mode("open", 0555);
  mode("shut", 0000);
  become_a_user();
  EXPECT_EQ(bad("write_file", R"({"path":"open/new.txt","content":"x"})"),
            "open/new.txt cannot be changed: the permissions of its folder do not allow it (mode 0555)");
  EXPECT_EQ(bad("read_file", R"({"path":"shut/b.txt"})"),
            "shut/b.txt cannot be read: a folder on the way to it may not be entered by this user");
}

TEST_F(Closed, AFileThatMayNotBeReadIsSaidToBeAndIsCounted) {
  folder_.put("a.txt", "needle\n");
  folder_.put("none.txt", "needle\n");
  folder_.put("shut/b.txt", "needle\n");
  mode("none.txt", 0000);
  mode("shut", 0000);
  become_a_user();
  EXPECT_EQ(bad("read_file", R"({"path":"none.txt"})"),
            "none.txt cannot be read: its permissions do not allow it (mode 0000)");
  EXPECT_EQ(good("grep", R"({"pattern":"needle"})"),
            "a.txt\n[2 files or folders could not be read, as permissions do not allow it]\n");
  EXPECT_EQ(good("glob", R"({"pattern":"a*"})"),
            "a.txt\n[1 file or folder could not be read, as permissions do not allow it]\n");
}

TEST_F(Closed, FilesElsewhereAreNotDescribed) {
  TempFolder outside;
  outside.put("secret.txt", "x");
  ASSERT_EQ(::chmod((outside.path + "/secret.txt").c_str(), 0), 0);
  std::filesystem::create_symlink(outside.path + "/secret.txt", folder_.path + "/link.txt");
  become_a_user();
  for (const std::string& path : {outside.path + "/secret.txt", std::string("link.txt")})
    EXPECT_EQ(bad("read_file", R"({"path":")" + path + R"("})").find("mode"), std::string::npos) << path;
}

TEST_F(Closed, AFullDiskIsOneWithoutRoomForTheFile) {
  constexpr std::uint64_t kMoreThanAnyDisk = std::uint64_t{1} << 62;
  EXPECT_TRUE(workspace_tools::is_disk_full(folder_.path, "a/b.txt", kMoreThanAnyDisk));
  EXPECT_FALSE(workspace_tools::is_disk_full(folder_.path, "a/b.txt", 1));
  EXPECT_FALSE(workspace_tools::is_disk_full(folder_.path, "/elsewhere", kMoreThanAnyDisk));
}

}  // namespace
}  // namespace agentd::testing
