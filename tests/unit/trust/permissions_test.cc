// SPDX-License-Identifier: Apache-2.0
// Owner, mode, the parents' owners and modes, and links: the one safe way is to be safe everywhere, and
// what is refused is named.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/trust/safe_path.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

constexpr uid_t kOther = 12345;

struct Part {
  uid_t owner;
  mode_t mode;
};

enum class Link { kNone, kFile, kOwnDirectory, kForeignDirectory };

// home/hooks/NAME below a temporary directory, and hooks by way of a link.
class Tree {
 public:
  Tree() {
    std::filesystem::create_directories(temp_.file("home/hooks"));
    std::filesystem::create_directory_symlink("home/hooks", temp_.file("link"));
    root_ = ::lchown(temp_.file("link").c_str(), kOther, static_cast<gid_t>(-1)) == 0;
    give_link(0);
  }
  bool can_give_away() const { return root_; }
  // Whose files are trusted: somebody else than root, where the test can make such files.
  uid_t user() const { return root_ ? 1000 : ::geteuid(); }

  std::string path(const std::string& name) const { return temp_.file(name); }
  void put(const std::string& name, const Part& part) const {
    const std::string file = path(name);
    if (!std::filesystem::exists(file)) temp_.write(name, "bytes");
    set(file, part);
  }
  void set(const std::string& file, const Part& part) const {
    if (root_) {
      EXPECT_EQ(::chown(file.c_str(), part.owner, static_cast<gid_t>(-1)), 0);
    }
    EXPECT_EQ(::chmod(file.c_str(), part.mode), 0);
  }
  void give_link(uid_t owner) const {
    if (!root_) return;
    EXPECT_EQ(::lchown(path("link").c_str(), owner, static_cast<gid_t>(-1)), 0);
  }

 private:
  testing::TempDir temp_;
  bool root_ = false;
};

// The error, or nothing when bytes were read.
std::string opened(const Tree& tree, const std::string& directory, const std::string& name) {
  const std::string path = tree.path(directory);
  const auto fd = open_safe_directory(path, tree.user());
  if (!fd) return fd.error().message;
  const auto file = open_safe_file(fd->get(), name, path + "/" + name, tree.user());
  return file ? "" : file.error().message;
}

bool is_own(const Tree& tree, const Part& part) { return part.owner == 0 || part.owner == tree.user(); }
bool is_writable(const Part& part) { return (part.mode & 022u) != 0; }

// The component that has to be named; empty when the cell is safe.
std::string unsafe_part(const Tree& tree, const Part& parent, const Part& directory, const Part& file, Link link,
                        const std::string& name) {
  const bool sticky = (parent.mode & 01000u) != 0 && parent.owner == 0;
  if (link == Link::kForeignDirectory && tree.can_give_away()) return tree.path("link");
  if (!is_own(tree, parent) || (is_writable(parent) && !sticky)) return tree.path("home");
  if (!is_own(tree, directory) || is_writable(directory)) return tree.path("home/hooks");
  const std::string shown = tree.path(link == Link::kNone || link == Link::kFile ? "home/hooks/" : "link/") + name;
  if (link == Link::kFile) return shown;
  return !is_own(tree, file) || is_writable(file) ? shown : "";
}

class PermissionMatrix : public ::testing::TestWithParam<const char*> {};

TEST_P(PermissionMatrix, EveryUnsafeCellIsRefusedByName) {
  const Tree tree;
  const std::string name = GetParam();
  const uid_t own = tree.user();
  std::vector<uid_t> owners{own};
  if (tree.can_give_away()) owners = {0, own, kOther};
  int cells = 0, safe = 0;
  const auto check = [&](const Part& parent, const Part& directory, const Part& file, Link link) {
    tree.set(tree.path("home"), parent);
    tree.set(tree.path("home/hooks"), directory);
    tree.put("home/hooks/" + name, file);
    tree.give_link(link == Link::kForeignDirectory ? kOther : own);
    const bool by_link = link == Link::kOwnDirectory || link == Link::kForeignDirectory;
    std::string asked = name;
    if (link == Link::kFile) {
      asked = "link-" + name;
      std::filesystem::remove(tree.path("home/hooks/" + asked));
      std::filesystem::create_symlink(name, tree.path("home/hooks/" + asked));
    }
    const std::string bad = unsafe_part(tree, parent, directory, file, link, asked);
    const std::string error = opened(tree, by_link ? "link" : "home/hooks", asked);
    EXPECT_EQ(error.empty(), bad.empty())
        << error << std::oct << " " << parent.mode << " " << directory.mode << " " << file.mode;
    EXPECT_EQ(error.rfind(bad + (bad.empty() ? "" : " "), 0), 0u) << error << "\nnot " << bad;
    ++cells;
    safe += bad.empty() ? 1 : 0;
  };
  for (const Link link : {Link::kNone, Link::kFile, Link::kOwnDirectory, Link::kForeignDirectory}) {
    // Who owns what.
    for (const uid_t parent : owners)
      for (const uid_t directory : owners)
        for (const uid_t file : owners) check({parent, 0755}, {directory, 0755}, {file, 0755}, link);
    // Who may write what.
    for (const mode_t parent : {0711u, 0755u, 0775u, 0757u, 01777u})
      for (const mode_t directory : {0700u, 0755u, 0775u, 0757u, 01777u})
        for (const mode_t file : {0400u, 0755u, 0775u, 0646u, 04755u})
          check({0, parent}, {own, directory}, {own, file}, link);
  }
  EXPECT_GE(cells, 500);
  EXPECT_GE(safe, 20);  // that nothing is refused for another reason
  EXPECT_LT(safe, cells / 2);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PermissionMatrix,
                         ::testing::Values("guard", "guard.so", "guard.yaml", "guard.hook.json", "config.yaml"));

TEST(Permissions, AStickyDirectoryOfSomebodyElseIsNoTmp) {
  const Tree tree;
  if (!tree.can_give_away()) GTEST_SKIP() << "needs root to give a directory away";
  tree.put("home/hooks/a", {tree.user(), 0644});
  tree.set(tree.path("home/hooks"), {tree.user(), 0755});
  tree.set(tree.path("home"), {tree.user(), 01777});
  EXPECT_NE(opened(tree, "home/hooks", "a").find("home is world-writable"), std::string::npos);
}

TEST(Permissions, AnythingButARegularFileIsRefused) {
  const Tree tree;
  const uid_t own = tree.user();
  tree.set(tree.path("home"), {own, 0755});
  tree.set(tree.path("home/hooks"), {own, 0755});
  std::filesystem::create_directory(tree.path("home/hooks/directory"));
  ASSERT_EQ(::mkfifo(tree.path("home/hooks/fifo").c_str(), 0600), 0);
  EXPECT_NE(opened(tree, "home/hooks", "directory").find("is not a regular file"), std::string::npos);
  EXPECT_NE(opened(tree, "home/hooks", "fifo").find("is not a regular file"), std::string::npos);
}

TEST(Permissions, ANameWithASlashNeverLeavesTheDirectory) {
  const Tree tree;
  const uid_t own = tree.user();
  tree.set(tree.path("home"), {own, 0755});
  tree.set(tree.path("home/hooks"), {own, 0777});
  tree.put("home/hooks/a", {own, 0644});
  const auto home = open_safe_directory(tree.path("home"), own);
  ASSERT_TRUE(home);
  // "hooks/a" would pass by a directory that anybody may write.
  const auto file = open_safe_file(home->get(), "hooks/a", tree.path("home/hooks/a"), own);
  EXPECT_FALSE(file);
}

}  // namespace
}  // namespace agentd
