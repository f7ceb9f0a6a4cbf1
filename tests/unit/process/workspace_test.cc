// SPDX-License-Identifier: Apache-2.0
#include "core/process/workspace.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace agentd {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "workspace.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    root_ = base_ + "/work";
    fs::create_directories(root_ + "/inside/deep");
    fs::create_directories(base_ + "/work-evil");
    put(root_ + "/a.txt", "alpha");
    put(root_ + "/inside/b.txt", "beta");
    put(base_ + "/secret.txt", "secret");
    put(base_ + "/work-evil/secret.txt", "secret");
    auto opened = open_workspace({root_});
    ASSERT_TRUE(opened) << opened.error().message;
    workspace_ = std::move(*opened);
  }
  void TearDown() override { fs::remove_all(base_); }

  static void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string get(const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  Result<std::string> read(const std::string& path) const { return workspace_->read(path, 0, 0, nullptr); }
  Code refusal(const std::string& path) const {
    const auto got = read(path);
    if (!got) return got.error().code;
    ADD_FAILURE() << path << " was read: " << *got;
    return Code::kInternal;
  }
  std::vector<std::string> leftovers(const std::string& folder) const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().filename().string().starts_with(".agentd-")) out.push_back(entry.path());
    return out;
  }

  std::string base_, root_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(Files, AreReadByRelativeAndAbsolutePath) {
  EXPECT_EQ(*read("a.txt"), "alpha");
  EXPECT_EQ(*read(root_ + "/a.txt"), "alpha");
  EXPECT_EQ(*read(root_ + "//inside/./b.txt"), "beta");
  EXPECT_EQ(*read("inside/../a.txt"), "alpha");
  EXPECT_EQ(*read(base_ + "/work-evil/../work/a.txt"), "alpha");
}

TEST_F(Files, OfARootThatIsGoneAreNotFound) {
  fs::remove_all(root_);
  for (const std::string& path : {root_, root_ + "/a.txt", root_ + "/inside/b.txt"}) {
    const auto got = read(path);
    ASSERT_FALSE(got) << path;
    EXPECT_EQ(got.error().code, Code::kNotFound) << path;
    EXPECT_EQ(got.error().message, "the workspace directory " + root_ + " no longer exists");
    EXPECT_EQ(workspace_->write(path, "x").error().code, Code::kNotFound) << path;
  }
  EXPECT_EQ(refusal(base_ + "/secret.txt"), Code::kDenied);
  EXPECT_EQ(refusal(base_ + "/work-evil/secret.txt"), Code::kDenied);
}

TEST_F(Files, AreReadInParts) {
  std::uint64_t total = 0;
  EXPECT_EQ(*workspace_->read("a.txt", 1, 3, &total), "lph");
  EXPECT_EQ(total, 5u);
  EXPECT_EQ(*workspace_->read("a.txt", 3, 100, &total), "ha");
  EXPECT_EQ(*workspace_->read("a.txt", 5, 1, &total), "");
  EXPECT_EQ(*workspace_->read("a.txt", UINT64_MAX, 1, &total), "");
  EXPECT_EQ(total, 5u);
}

TEST_F(Files, OutsideAreDenied) {
  for (const std::string& path : std::vector<std::string>{
           "..", "../secret.txt", "inside/../../secret.txt", "./.././secret.txt", "/etc/passwd", "/", base_,
           base_ + "/secret.txt", root_ + "/../secret.txt", root_ + "/inside/../../secret.txt",
           "inside/deep/../../../secret.txt", "/proc/self/root/etc/passwd", "/proc/self/cwd/../secret",
           "/proc/1/root/etc/passwd", "//etc/passwd", "/../etc/passwd", "/dev/null", "/dev/stdin"})
    EXPECT_EQ(refusal(path), Code::kDenied) << path;
}

TEST_F(Files, OfATwinWithTheSamePrefixAreDenied) {
  EXPECT_EQ(refusal(root_ + "-evil/secret.txt"), Code::kDenied);
  EXPECT_EQ(refusal("../work-evil/secret.txt"), Code::kDenied);
}

TEST_F(Files, ThatDoNotExistOutsideAreDeniedJustTheSame) {
  EXPECT_EQ(refusal(base_ + "/no-such-file"), Code::kDenied);
  EXPECT_EQ(refusal("/no/such/folder/file"), Code::kDenied);
}

TEST_F(Files, ThatDoNotExistInsideAreNotFound) {
  EXPECT_EQ(refusal("missing.txt"), Code::kNotFound);
  EXPECT_EQ(refusal("no/folder/missing.txt"), Code::kNotFound);
  EXPECT_EQ(refusal(root_ + "/missing.txt"), Code::kNotFound);
  EXPECT_EQ(refusal("a.txt/below"), Code::kNotFound);
}

TEST_F(Files, WithOddPathsAreRefusedWithASentence) {
  EXPECT_EQ(refusal(""), Code::kInvalid);
  EXPECT_EQ(refusal(std::string("a.txt\0/../..", 11)), Code::kInvalid);
  EXPECT_EQ(refusal(std::string(5'000, 'a')), Code::kInvalid);
  EXPECT_EQ(refusal("~/secret"), Code::kNotFound);
  EXPECT_EQ(refusal("a.txt "), Code::kNotFound);
}

TEST_F(Files, BehindLinksThatLeadOutAreDenied) {
  fs::create_symlink("../secret.txt", root_ + "/relative");
  fs::create_symlink(base_ + "/secret.txt", root_ + "/absolute");
  fs::create_directory_symlink("..", root_ + "/up");
  fs::create_directory_symlink("/", root_ + "/slash");
  fs::create_symlink("/proc/self/root/etc/passwd", root_ + "/magic");
  fs::create_symlink("relative", root_ + "/chain");
  for (const char* path : {"relative", "absolute", "up/secret.txt", "slash/etc/passwd", "magic", "chain"})
    EXPECT_EQ(refusal(path), Code::kDenied) << path;
}

TEST_F(Files, BehindLinksThatStayInsideAreRead) {
  fs::create_symlink("../a.txt", root_ + "/inside/link");
  fs::create_directory_symlink("inside", root_ + "/alias");
  EXPECT_EQ(*read("inside/link"), "alpha");
  EXPECT_EQ(*read("alias/b.txt"), "beta");
  EXPECT_EQ(*read("alias/link"), "alpha");
}

TEST_F(Files, BehindACircleOfLinksAreRefused) {
  fs::create_symlink("two", root_ + "/one");
  fs::create_symlink("one", root_ + "/two");
  EXPECT_EQ(refusal("one"), Code::kDenied);
  EXPECT_EQ(workspace_->write("one", "x").error().code, Code::kDenied);
}

TEST_F(Files, ThatAreDirectoriesOrFifosAreRefused) {
  ASSERT_EQ(::mkfifo((root_ + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(refusal("inside"), Code::kInvalid);
  EXPECT_EQ(refusal("."), Code::kInvalid);
  EXPECT_EQ(refusal(root_), Code::kInvalid);
  EXPECT_EQ(refusal("fifo"), Code::kInvalid);
  EXPECT_EQ(workspace_->write("fifo", "x").error().code, Code::kInvalid);
  EXPECT_EQ(workspace_->write("inside", "x").error().code, Code::kInvalid);
  EXPECT_TRUE(fs::is_fifo(root_ + "/fifo"));
}

TEST_F(Files, ThatAreDevicesAreRefused) {
  auto devices = open_workspace({"/dev"});
  ASSERT_TRUE(devices);
  const auto got = (*devices)->read("null", 0, 10, nullptr);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kInvalid);
}

TEST_F(Files, AreWrittenWithTheirParents) {
  ASSERT_TRUE(workspace_->write("new/folders/c.txt", "gamma"));
  EXPECT_EQ(get(root_ + "/new/folders/c.txt"), "gamma");
  ASSERT_TRUE(workspace_->write(root_ + "/d.txt", ""));
  EXPECT_EQ(fs::file_size(root_ + "/d.txt"), 0u);
}

TEST_F(Files, KeepTheirModeWhenTheyAreWritten) {
  ::chmod((root_ + "/a.txt").c_str(), 0751);
  ASSERT_TRUE(workspace_->write("a.txt", "new"));
  struct stat info {};
  ::stat((root_ + "/a.txt").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777u, 0751u);
  EXPECT_EQ(get(root_ + "/a.txt"), "new");
}

TEST_F(Files, AreReplacedAsAWholeAndNeverInPlace) {
  std::ifstream reader(root_ + "/a.txt");  // has the old file open
  ASSERT_TRUE(workspace_->write("a.txt", "new"));
  std::string old;
  reader >> old;
  EXPECT_EQ(old, "alpha");
  EXPECT_EQ(leftovers(root_), std::vector<std::string>{});
}

TEST_F(Files, BehindALinkAreWrittenAndTheLinkStays) {
  fs::create_symlink("inside/b.txt", root_ + "/link");
  fs::create_directory_symlink("inside", root_ + "/alias");
  fs::create_symlink("../a.txt", root_ + "/inside/up");
  ASSERT_TRUE(workspace_->write("link", "through"));
  EXPECT_TRUE(fs::is_symlink(root_ + "/link"));
  EXPECT_EQ(get(root_ + "/inside/b.txt"), "through");
  ASSERT_TRUE(workspace_->write("alias/up", "upwards"));
  EXPECT_EQ(get(root_ + "/a.txt"), "upwards");
}

TEST_F(Files, OutsideAreNeverWritten) {
  fs::create_symlink("../secret.txt", root_ + "/relative");
  fs::create_symlink(base_ + "/secret.txt", root_ + "/absolute");
  fs::create_symlink("../created.txt", root_ + "/dangling");
  fs::create_directory_symlink("..", root_ + "/up");
  for (const std::string& path : std::vector<std::string>{
           "../secret.txt", "relative", "absolute", "dangling", "up/secret.txt", "up/new/file", base_ + "/new.txt",
           root_ + "-evil/x", "..", ".", "inside/..", "/tmp/../etc/x", "../new/folder/file"}) {
    const auto wrote = workspace_->write(path, "overwritten");
    ASSERT_FALSE(wrote) << path;
    EXPECT_TRUE(wrote.error().code == Code::kDenied || wrote.error().code == Code::kInvalid)
        << path << ": " << wrote.error().message;
  }
  EXPECT_EQ(get(base_ + "/secret.txt"), "secret");
  for (const char* name : {"/created.txt", "/new", "/new.txt"}) EXPECT_FALSE(fs::exists(base_ + name));
}

TEST_F(Files, AreReplacedWhenTheyAreWhatWasExpected) {
  ASSERT_TRUE(workspace_->replace("a.txt", "alpha", "omega"));
  EXPECT_EQ(get(root_ + "/a.txt"), "omega");
}

TEST_F(Files, ThatHaveChangedAreNotReplaced) {
  const auto got = workspace_->replace("a.txt", "something else", "omega");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kConflict);
  EXPECT_EQ(get(root_ + "/a.txt"), "alpha");
  EXPECT_EQ(workspace_->replace("missing", "", "x").error().code, Code::kNotFound);
  EXPECT_EQ(leftovers(root_), std::vector<std::string>{});
}

TEST_F(Files, AreReplacedByExactlyOneOfManyAtOnce) {
  put(root_ + "/count", "0");
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round) {
        const std::string now = *read("count");
        if (workspace_->replace("count", now, std::to_string(std::stoi(now) + 1))) ++done;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(get(root_ + "/count"), std::to_string(done)) << "a successful replacement was lost";
}

TEST_F(Files, AreFoundUnderEveryRoot) {
  fs::create_directories(base_ + "/second");
  put(base_ + "/second/c.txt", "gamma");
  auto both = open_workspace({root_, base_ + "/second"});
  ASSERT_TRUE(both);
  EXPECT_EQ(*(*both)->read(base_ + "/second/c.txt", 0, 0, nullptr), "gamma");
  EXPECT_EQ(*(*both)->read("a.txt", 0, 0, nullptr), "alpha");
  EXPECT_FALSE((*both)->read("c.txt", 0, 0, nullptr)) << "relative paths start at the first root";
  EXPECT_EQ((*both)->roots().size(), 2u);
}

TEST_F(Files, DoNotEscapeThroughALinkThatFlips) {
  put(root_ + "/flip.inside", "inside");
  const std::string link = root_ + "/flip";
  fs::create_symlink("flip.inside", link);
  std::atomic<bool> stop{false};
  std::atomic<int> flips{0};
  std::thread racer([&] {
    const std::string beside = root_ + "/flip.new";
    for (bool out = true; !stop; out = !out, ++flips) {
      ::unlink(beside.c_str());
      if (::symlink(out ? "../secret.txt" : "flip.inside", beside.c_str()) != 0) continue;
      ::rename(beside.c_str(), link.c_str());
    }
  });
  int inside = 0;
  int denied = 0;
  int escapes = 0;
  for (int round = 0; round < 20'000 || flips < 5'000; ++round) {
    const auto got = read("flip");
    if (got && *got == "inside") ++inside;
    if (got && *got != "inside") ++escapes;
    if (!got && got.error().code == Code::kDenied) ++denied;
  }
  stop = true;
  racer.join();
  EXPECT_EQ(escapes, 0);
  EXPECT_GT(inside, 0);
  EXPECT_GT(denied, 0);
}

TEST_F(Files, AreNotWrittenOutsideThroughAFolderThatFlips) {
  fs::create_directories(base_ + "/outside");
  fs::create_directories(root_ + "/real");
  const std::string link = root_ + "/folder";
  fs::create_directory_symlink("real", link);
  std::atomic<bool> stop{false};
  std::atomic<int> flips{0};
  std::thread racer([&] {
    const std::string beside = root_ + "/folder.new";
    for (bool out = true; !stop; out = !out, ++flips) {
      ::unlink(beside.c_str());
      if (::symlink(out ? "../outside" : "real", beside.c_str()) != 0) continue;
      ::rename(beside.c_str(), link.c_str());
    }
  });
  int wrote = 0;
  // On a busy machine the racer may not have begun, or may stand between two flips, for hundreds of rounds.
  for (int round = 0; round < 300 || ((wrote == 0 || flips < 100) && round < 1'000'000); ++round)
    wrote += workspace_->write("folder/file", "x") ? 1 : 0;
  stop = true;
  racer.join();
  EXPECT_GT(wrote, 0);
  EXPECT_TRUE(fs::is_empty(base_ + "/outside"));
}

class KeptFiles : public Files {
 protected:
  void SetUp() override {
    Files::SetUp();
    home_ = root_ + "/.agent";
    fs::create_directories(home_ + "/hooks");
    put(home_ + "/config.yaml", "deny");
    open({home_});
  }
  void open(std::vector<std::string> kept) {
    auto opened = open_workspace({root_}, std::move(kept));
    ASSERT_TRUE(opened) << opened.error().message;
    workspace_ = std::move(*opened);
  }
  void expect_refused(const std::string& path) {
    const auto wrote = workspace_->write(path, "allow");
    ASSERT_FALSE(wrote) << path;
    EXPECT_EQ(wrote.error().code, Code::kDenied) << path;
    EXPECT_NE(wrote.error().message.find("belongs to agentd itself"), std::string::npos) << wrote.error().message;
  }
  std::vector<std::string> names_in_home() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(home_))
      out.push_back(entry.path().lexically_relative(home_));
    std::sort(out.begin(), out.end());
    return out;
  }

  std::string home_;
};

// Whatever is written there could lead Git to settings and hooks of its own, also in a repository of a submodule.
TEST_F(KeptFiles, AreThoseOfAnyRepository) {
  fs::create_directories(root_ + "/.git/info");
  fs::create_directories(root_ + "/inside/.git/modules/m");
  for (const char* const path :
       {".git/commondir", ".git/config.worktree", ".git/HEAD", ".git/objects/x", "inside/.git/config", ".GIT/config",
        "inside/.git/modules/m/config", "inside/deep/.git"}) {
    const auto wrote = workspace_->write(path, "evil");
    ASSERT_FALSE(wrote) << path;
    EXPECT_NE(wrote.error().message.find("which programs Git runs"), std::string::npos) << wrote.error().message;
  }
  for (const char* const path : {".git/info/exclude", ".gitignore", "x.git/config", ".github/workflows/x.yaml"})
    EXPECT_TRUE(workspace_->write(path, "fine")) << path;
}

// A directory can be a repository without a `.git`: whichever part comes last is refused, and then what runs programs.
TEST_F(KeptFiles, MakeNoDirectoryARepository) {
  const auto refused = [&](const std::string& path) {
    const auto wrote = workspace_->write(path, "evil");
    return !wrote && wrote.error().code == Code::kDenied &&
           wrote.error().message.find("which programs Git runs") != std::string::npos;
  };
  for (const char* const path : {"a/config", "a/hooks/pre-commit", "a/objects/x", "a/refs/x", "b/HEAD", "b/config",
                                 "b/refs/x", "c/HEAD", "c/objects/x", "d/commondir", "e/HEAD", "HEAD", "f/refs/HEAD"})
    EXPECT_TRUE(workspace_->write(path, "fine")) << path;
  for (const char* const path : {"a/HEAD", "b/objects/x", "c/refs/x", "d/HEAD", "e/commondir"})
    EXPECT_TRUE(refused(path)) << path;
  std::ofstream(root_ + "/a/HEAD") << "ref: refs/heads/x";
  for (const char* const path : {"a/HEAD", "a/config", "a/config.worktree", "a/hooks/pre-commit", "a/hooks/new"})
    EXPECT_TRUE(refused(path)) << path;
  EXPECT_TRUE(workspace_->write("a/description", "fine"));
}

TEST_F(KeptFiles, LeaveNoNewDirectoriesWhereTheyAreRefused) {
  auto opened = open_workspace({root_}, {root_ + "/one/two/hooks"});
  ASSERT_TRUE(opened) << opened.error().message;
  for (const char* const path :
       {"sub/.git/config", "sub/deep/.git/info/exclude", "sub/.GIT", "one/two/hooks/pre-commit", "one/two/hooks",
        "inside/../sub/.git/config", "inside/sub/.git/config"}) {
    const auto wrote = (*opened)->write(path, "evil");
    ASSERT_FALSE(wrote) << path;
    EXPECT_EQ(wrote.error().code, Code::kDenied) << path;
  }
  for (const char* const made : {"sub", "one", "inside/sub"}) EXPECT_FALSE(fs::exists(root_ + "/" + made)) << made;
  for (const char* const path : {"sub/deep/file", "one/two/file", "one/two/hooks2/file"})
    EXPECT_TRUE((*opened)->write(path, "fine")) << path;
  EXPECT_FALSE((*opened)->write("one/two/hooks/x", "evil"));
}

TEST_F(KeptFiles, AreReadAndNotWrittenByAnyPath) {
  fs::create_directory_symlink(".agent", root_ + "/alias");
  fs::create_directory_symlink("../.agent/hooks", root_ + "/inside/hooks");
  fs::create_symlink(".agent/config.yaml", root_ + "/settings");
  fs::create_symlink(".agent/new.yaml", root_ + "/dangling");
  ASSERT_EQ(::chdir(root_.c_str()), 0);
  for (const std::string& path : std::vector<std::string>{
           ".agent/config.yaml", "./.agent//config.yaml", "inside/../.agent/config.yaml", "alias/config.yaml",
           "settings", "dangling", ".agent/hooks/evil.yaml", ".agent/new/folder/file", "inside/hooks/evil.yaml",
           "inside/hooks/../config.yaml", "alias/hooks/deep/evil.yaml", home_ + "/config.yaml",
           base_ + "/work-evil/../work/.agent/x", "/proc/self/cwd/.agent/config.yaml"})
    expect_refused(path);
  EXPECT_EQ(*read(".agent/config.yaml"), "deny");
  EXPECT_EQ(*read("settings"), "deny");
  const auto replaced = workspace_->replace(".agent/config.yaml", "deny", "allow");
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code, Code::kDenied);
  EXPECT_EQ(names_in_home(), (std::vector<std::string>{"config.yaml", "hooks"}));
  EXPECT_TRUE(workspace_->write("a.txt", "new"));
  EXPECT_TRUE(workspace_->write("inside/.agent/config.yaml", "of nobody"));
}

TEST_F(KeptFiles, ThatDoNotExistAreNotMade) {
  fs::remove_all(home_);
  for (const char* path : {".agent", ".agent/config.yaml", ".agent/hooks/evil.yaml", ".AGENT/config.yaml"})
    expect_refused(path);
  EXPECT_FALSE(fs::exists(home_));
  fs::create_directories(home_);  // another directory than the first
  expect_refused(".agent/config.yaml");
}

TEST_F(KeptFiles, AreKeptWhereLinksLeadTo) {
  fs::remove_all(home_);
  fs::create_directories(root_ + "/dotfiles/hooks");
  fs::create_directories(home_);
  put(root_ + "/dotfiles/agent.yaml", "deny");
  fs::create_symlink("../dotfiles/agent.yaml", home_ + "/config.yaml");
  fs::create_directory_symlink("../dotfiles/hooks", home_ + "/hooks");
  open({home_, home_ + "/config.yaml", home_ + "/hooks/"});
  expect_refused("dotfiles/agent.yaml");
  expect_refused("dotfiles/hooks/evil.yaml");
  EXPECT_EQ(get(root_ + "/dotfiles/agent.yaml"), "deny");
  EXPECT_TRUE(workspace_->write("dotfiles/other.yaml", "x"));
}

TEST_F(KeptFiles, AroundTheRootKeepAllOfIt) {
  open({base_});
  expect_refused("a.txt");
  expect_refused("new/file");
  EXPECT_FALSE(fs::exists(root_ + "/new"));
  EXPECT_EQ(*read("a.txt"), "alpha");
}

TEST_F(KeptFiles, ThatAreHiddenAreNotReadByAnyPath) {
  put(home_ + "/keys", "secret");
  put(home_ + "/keys.tmp.1.2", "secret");
  put(root_ + "/keys.tmp.1.2", "mine");
  put(root_ + "/keys", "mine");
  fs::create_symlink(".agent/keys", root_ + "/link");
  fs::create_hard_link(home_ + "/keys", root_ + "/hard");
  fs::create_directory_symlink(".agent", root_ + "/alias");
  const std::vector<std::string> ways{".agent/keys",
                                      "link",
                                      "hard",
                                      "alias/keys",
                                      "inside/../.agent//keys",
                                      home_ + "/keys",
                                      ".agent/keys.tmp.1.2",
                                      "alias/keys.tmp.1.2"};
  for (const std::string& path : ways) EXPECT_TRUE(read(path)) << path;  // kept alone it is read
  auto opened = open_workspace({root_}, {home_}, {home_ + "/keys"});
  ASSERT_TRUE(opened) << opened.error().message;
  workspace_ = std::move(*opened);
  for (const std::string& path : ways) {
    const auto got = read(path);
    ASSERT_FALSE(got) << path;
    EXPECT_EQ(got.error().code, Code::kDenied) << path;
    EXPECT_EQ(workspace_->replace(path, "secret", "x").error().code, Code::kDenied) << path;
  }
  EXPECT_EQ(*read(".agent/config.yaml"), "deny");
  for (const char* const path : {"keys", "keys.tmp.1.2"}) EXPECT_EQ(*read(path), "mine") << path;
}

std::vector<std::string> paths_of(const FileListing& listing) {
  std::vector<std::string> out;
  for (const FileEntry& entry : listing.entries) out.push_back(entry.path);
  return out;
}

TEST_F(Files, AreListedDepthFirstInByteOrder) {
  put(root_ + "/Z.txt", "");
  put(root_ + "/inside/deep/x", "12345");
  const auto got = workspace_->list(".", 0, 0);
  ASSERT_TRUE(got);
  EXPECT_EQ(paths_of(*got),
            (std::vector<std::string>{"Z.txt", "a.txt", "inside", "inside/b.txt", "inside/deep", "inside/deep/x"}));
  EXPECT_FALSE(got->more);
  EXPECT_EQ(got->entries[5].bytes, 5u);
  EXPECT_GT(got->entries[5].modified_ns, 1'000'000'000'000'000'000);
  EXPECT_EQ(got->entries[4].kind, FileEntry::Kind::kDirectory);
}

TEST_F(Files, AreListedToADepth) {
  EXPECT_EQ(paths_of(*workspace_->list(root_, 1, 0)), (std::vector<std::string>{"a.txt", "inside"}));
  EXPECT_EQ(paths_of(*workspace_->list("inside", 1, 0)), (std::vector<std::string>{"b.txt", "deep"}));
}

TEST_F(Files, AreListedToALimit) {
  const auto two = workspace_->list(".", 0, 2);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->entries.size(), 2u);
  EXPECT_TRUE(two->more);
  const auto exact = workspace_->list(".", 0, 4);
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->entries.size(), 4u);
  EXPECT_FALSE(exact->more);
}

TEST_F(Files, AreListedWithoutFollowingLinks) {
  fs::create_directory_symlink(".", root_ + "/loop");
  fs::create_directory_symlink("..", root_ + "/up");
  const auto got = workspace_->list(".", 0, 0);
  ASSERT_TRUE(got);
  EXPECT_EQ(paths_of(*got), (std::vector<std::string>{"a.txt", "inside", "inside/b.txt", "inside/deep", "loop", "up"}));
  EXPECT_EQ(got->entries[4].kind, FileEntry::Kind::kSymlink);
}

TEST_F(Files, AreListedInATreeThatIsDeeperThanThereAreDescriptors) {
  std::string deep = root_ + "/deep";
  for (int level = 0; level < 300; ++level) {
    ASSERT_EQ(::mkdir(deep.c_str(), 0700), 0);
    deep += "/d";
  }
  struct rlimit before {};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const struct rlimit few { 64, before.rlim_max };
  ::setrlimit(RLIMIT_NOFILE, &few);
  const auto got = workspace_->list("deep", 0, 5'000);
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->entries.size(), 299u);
}

TEST_F(Files, AreNotListedOutside) {
  fs::create_directory_symlink("..", root_ + "/up");
  EXPECT_EQ(workspace_->list("..", 1, 0).error().code, Code::kDenied);
  EXPECT_EQ(workspace_->list("/", 1, 0).error().code, Code::kDenied);
  EXPECT_EQ(workspace_->list("up", 1, 0).error().code, Code::kDenied);
  EXPECT_EQ(workspace_->list("a.txt", 1, 0).error().code, Code::kInvalid);
  EXPECT_EQ(workspace_->list("missing", 1, 0).error().code, Code::kNotFound);
}

TEST(OpenWorkspace, RefusesRootsThatAreNone) {
  EXPECT_EQ(open_workspace({}).error().code, Code::kInvalid);
  EXPECT_EQ(open_workspace({"relative"}).error().code, Code::kInvalid);
  EXPECT_EQ(open_workspace({""}).error().code, Code::kInvalid);
  EXPECT_EQ(open_workspace({"/no/such/folder"}).error().code, Code::kNotFound);
  EXPECT_EQ(open_workspace({"/etc/passwd"}).error().code, Code::kNotFound);
}

// Makes openat2 fail as on an old kernel, or in a container that does not know it.
void forbid_openat2(unsigned error_number) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_number),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(9);
}

void open_without_openat2(unsigned error_number) {
  forbid_openat2(error_number);
  const auto got = open_workspace({"/tmp"});
  if (got) ::_exit(1);
  std::fprintf(stderr, "%s\n", got.error().message.c_str());
  ::_exit(got.error().code == Code::kUnavailable ? 0 : 2);
}

TEST(OpenWorkspace, SaysThatOpenat2IsMissing) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(open_without_openat2(ENOSYS), ::testing::ExitedWithCode(0), "openat2 is missing");
  EXPECT_EXIT(open_without_openat2(EPERM), ::testing::ExitedWithCode(0), "openat2 is missing");
}

}  // namespace
}  // namespace agentd
