// SPDX-License-Identifier: Apache-2.0
// git_index_test.cc - the submodules of an index, and what settings lead to, as Git itself writes them.
#include "core/cage/git_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/file.h"
#include "core/cage/git_settings.h"
#include "core/process/process.h"
#include "tests/support/temp_dir.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

class GitIndex : public ::testing::Test {
 protected:
  void git(const std::string& script) const {
    const SystemClock clock;
    ProcessRequest request;
    request.argv = {"bash", "-ec", script};
    request.cwd = directory_.path();
    request.environment = {"PATH=/usr/bin:/bin", "HOME=" + directory_.path(), "GIT_CONFIG_NOSYSTEM=1"};
    const auto ran = run_process(request, clock, CancelToken(), Deadline::after(clock, Milliseconds(60'000)));
    ASSERT_TRUE(ran) << ran.error().message;
    ASSERT_EQ(ran->exit_code, 0) << ran->output;
  }
  cage::Gitlinks links() const {
    return cage::parse_gitlinks(read_file(directory_.file(".git/index"), 1u << 24).value_or(""));
  }
  // Files and three submodules with names that share beginnings.
  void fill(const std::string& hash, int length) const {
    git("git init -q --object-format=" + hash +
        " . && mkdir d && for i in $(seq 50); do echo > d/file$i; done && git add d");
    const std::string id(static_cast<std::size_t>(length), '1');
    for (const char* const path : {"d/file1x", "d/sub", "lib/a b"})
      git("git update-index --add --cacheinfo 160000," + id + ",'" + path + "'");
  }

  const TempDir directory_;
  const std::vector<std::string> expected_{"d/file1x", "d/sub", "lib/a b"};
};

TEST_F(GitIndex, NamesTheSubmodulesInEachVersion) {
  fill("sha1", 40);
  for (const char* const version : {"2", "3", "4"}) {
    git("git update-index --index-version " + std::string(version));
    if (*version == '3') git("echo > new && git add --intent-to-add new");
    const cage::Gitlinks found = links();
    EXPECT_TRUE(found.complete) << version;
    EXPECT_EQ(found.paths, expected_) << version;
  }
}

TEST_F(GitIndex, NamesThemWithTheLongerHash) {
  fill("sha256", 64);
  for (const char* const version : {"2", "4"}) {
    git("git update-index --index-version " + std::string(version));
    EXPECT_TRUE(links().complete);
    EXPECT_EQ(links().paths, expected_) << version;
  }
}

// One that can be read with the other hash alone says nothing: Git reads it with that of the settings.
TEST_F(GitIndex, IsNotCompleteWithTheOtherHash) {
  constexpr std::size_t kSha1 = 20, kSha256 = 32;
  for (const bool longer : {false, true}) {
    git("rm -rf .git d");
    fill(longer ? "sha256" : "sha1", longer ? 64 : 40);
    const std::string text = read_file(directory_.file(".git/index"), 1u << 24).value_or("");
    EXPECT_TRUE(cage::parse_gitlinks(text, longer ? kSha256 : kSha1).complete) << "the control";
    EXPECT_FALSE(cage::parse_gitlinks(text, longer ? kSha1 : kSha256).complete);
    const std::string top = directory_.path(), index = top + "/.git/index";
    git("git init -q one");
    EXPECT_EQ(cage::gitlinks(top, index, top).paths.size(), expected_.size());
    git("git config " + std::string(longer
                                        ? "--unset extensions.objectFormat"
                                        : "core.repositoryFormatVersion 1; git config extensions.objectFormat sha256"));
    EXPECT_GT(cage::gitlinks(top, index, top).paths.size(), expected_.size());
  }
}

TEST_F(GitIndex, NamesNoneWhereThereIsNone) {
  git("git init -q . && echo > a && git add a");
  EXPECT_TRUE(links().complete);
  EXPECT_TRUE(links().paths.empty());
}

TEST_F(GitIndex, SaysWhereThereMayBeMore) {
  fill("sha1", 40);
  git("git update-index --split-index");
  EXPECT_FALSE(links().complete);
  EXPECT_FALSE(cage::parse_gitlinks("").complete);
  EXPECT_FALSE(cage::parse_gitlinks(std::string("DIRC\0\0\0\5\0\0\0\0", 12) + std::string(20, 'x')).complete);
}

TEST_F(GitIndex, SaysThatASparseOneMayHaveMore) {
  git("git init -q . && git config user.name n && git config user.email a@b && mkdir a b && echo > a/x && echo > b/x "
      "&& "
      "git add . && git commit -qm one && git sparse-checkout set --cone --sparse-index a");
  EXPECT_FALSE(links().complete);
  git("git sparse-checkout disable");
  EXPECT_TRUE(links().complete) << "the control";
}

TEST_F(GitIndex, ReadsEachCutOfAnIndexWithoutHarm) {
  fill("sha1", 40);
  for (const char* const version : {"2", "4"}) {
    git("git update-index --index-version " + std::string(version));
    const std::string text = read_file(directory_.file(".git/index"), 1u << 24).value_or("");
    for (std::size_t size = 0; size < text.size(); ++size)
      EXPECT_FALSE(cage::parse_gitlinks(std::string_view(text).substr(0, size)).complete &&
                   cage::parse_gitlinks(std::string_view(text).substr(0, size)).paths.size() > 3)
          << size;
    std::string changed = text;
    for (std::size_t at = 0; at < changed.size(); at += 3) {
      changed[at] = static_cast<char>(~changed[at]);
      (void)cage::parse_gitlinks(changed);
      changed[at] = text[at];
    }
  }
}

// As Git writes it for reading in several threads, a table of the entries names those in sequence.
TEST_F(GitIndex, FollowsATableOfTheEntries) {
  fill("sha1", 40);
  for (const char* const version : {"2", "4"}) {
    git("for each in threads=3 recordOffsetTable=true recordEndOfIndexEntries=true; do git config "
        "index.${each%=*} ${each#*=}; done; git update-index --index-version 3 --force-write-index; git update-index "
        "--force-write-index --index-version " +
        std::string(version));
    const std::string text = read_file(directory_.file(".git/index"), 1u << 24).value_or("");
    const std::size_t table = text.find("IEOT");
    ASSERT_NE(table, std::string::npos);
    EXPECT_TRUE(cage::parse_gitlinks(text).complete) << version;
    EXPECT_EQ(cage::parse_gitlinks(text).paths, expected_) << version;
    const auto changed = [&](std::size_t at, int by) {
      std::string out = text;
      out[at] = static_cast<char>(out[at] + by);
      return cage::parse_gitlinks(out);
    };
    EXPECT_FALSE(changed(table + 8 + 4 + 3, 8).complete) << "an offset";
    EXPECT_FALSE(changed(table + 8 + 8 + 3, -1).complete) << "a count";
    EXPECT_FALSE(changed(text.find("EOIE") + 8 + 3, 1).complete) << "the end of the entries";
  }
}

// What Git would not write, it reads nevertheless.
TEST_F(GitIndex, TakesEachNameAsGitDoes) {
  fill("sha1", 40);
  git("git update-index --index-version 2");
  const std::string text = read_file(directory_.file(".git/index"), 1u << 24).value_or("");
  const auto found = [&](const std::string& path) {
    std::string out = text;
    out.replace(out.find("lib/a b"), 7, path);
    return cage::parse_gitlinks(out);
  };
  for (const char* const path : {"l/../ab", "./b/a b", "/ib/a b", ".git/ab", "li/.git", "lib//ab", "lib/a_/"}) {
    EXPECT_FALSE(found(path).complete) << path;
    EXPECT_EQ(found(path).paths.back(), path);
  }
  EXPECT_FALSE(found(std::string("lib\0a b", 7)).complete);
  EXPECT_EQ(found(std::string("lib\0a b", 7)).paths.back(), "lib");
  EXPECT_TRUE(found("li.../b").complete) << "the control";
  // A length that is too short: Git copies one byte more, and takes all up to a zero.
  std::string shorter = text;
  shorter[shorter.find("lib/a b") - 1] = 6;
  const cage::Gitlinks links = cage::parse_gitlinks(shorter);
  EXPECT_FALSE(links.complete);
  EXPECT_NE(std::find(links.paths.begin(), links.paths.end(), "lib/a b"), links.paths.end());
}

// Of an index that ends too early Git sees zeros.
TEST_F(GitIndex, FindsWhatIsThereWhereTheRestIsMissing) {
  fill("sha1", 40);
  const std::string text = read_file(directory_.file(".git/index"), 1u << 24).value_or("");
  const cage::Gitlinks links = cage::parse_gitlinks(std::string_view(text).substr(0, text.find("lib/a b") + 7));
  EXPECT_FALSE(links.complete);
  for (const std::string& path : expected_)
    EXPECT_NE(std::find(links.paths.begin(), links.paths.end(), path), links.paths.end()) << path;
}

// Paths are absolute, whatever leads there.
TEST_F(GitIndex, FindsThePlacesOfItsPaths) {
  git("git init -q . && mkdir -p a/b && ln -s a/b l && git init -q e/n && git init -q .git/n && echo > a/f && git add "
      "a && git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,xxxxxx");
  const std::string top = directory_.path(), index = top + "/.git/index";
  git("sed -i 's,xxxxxx,l/../c,' .git/index");
  const std::vector<std::string> found = cage::gitlinks(top, index, top).paths;
  for (const char* const name : {"/c", "/e/n", "/.git/n"})
    EXPECT_NE(std::find(found.begin(), found.end(), top + name), found.end()) << name;
  git("mkdir a/c");
  const std::vector<std::string> behind = cage::gitlinks(top, index, top).paths;
  EXPECT_NE(std::find(behind.begin(), behind.end(), top + "/a/c"), behind.end());
}

TEST_F(GitIndex, FindsWhatASharedIndexNames) {
  fill("sha1", 40);
  git("sed -i 's,lib/a b,/li/a b,' .git/index && git update-index --split-index");
  const std::vector<std::string> found =
      cage::gitlinks(directory_.path(), directory_.file(".git/index"), directory_.path()).paths;
  EXPECT_NE(std::find(found.begin(), found.end(), "/li/a b"), found.end());
}

// An index that cannot be read whole: every repository below counts.
TEST_F(GitIndex, FallsBackToTheDirectories) {
  git("git init -q . && git init -q one/two && mkdir plain && echo > a && git add a");
  const std::string top = directory_.path(), index = top + "/.git/index";
  EXPECT_TRUE(cage::gitlinks(top, index, top).paths.empty());
  git("git update-index --split-index");
  EXPECT_EQ(cage::gitlinks(top, index, top).paths, std::vector<std::string>{top + "/one/two"});
  EXPECT_TRUE(cage::gitlinks(top, index, top).complete);
  EXPECT_FALSE(cage::gitlinks(top, index, top, 5).complete) << "too many entries are no search";
}

// A change is seen, however soon it comes.
TEST_F(GitIndex, IsReadAgainWhenItChanges) {
  git("git init -q . && echo > a && git add a");
  const std::string top = directory_.path(), index = top + "/.git/index";
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(cage::gitlinks(top, index, top).paths.empty());
    git("git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,s");
    EXPECT_EQ(cage::gitlinks(top, index, top).paths.size(), 1u);
    git("git update-index --force-remove s");
  }
}

TEST(GitSettings, AreReadAsGitReadsThem) {
  const TempDir directory;
  const std::string file = directory.file("config");
  std::ofstream(file)
      << "; comment\n[core] hooksPath = a # b\n\tfsmonitor\n[Core]\nHOOKSPATH=\"c d\" e \\\n f\n"
         "[include]path=x;y\n[includeIf \"gitdir:~/a]b/\"]\n path = \"q\\\"\\\\r\"\n[a.B] c = 1\n[x \"y\"]\nz=\n";
  std::vector<std::string> found;
  for (const cage::GitSetting& each : cage::settings_in(file)) found.push_back(each.name + "|" + each.value);
  const std::vector<std::string> expected{"core.hookspath|a",
                                          "core.fsmonitor|true",
                                          "core.hookspath|c d e  f",
                                          "include.path|x",
                                          "includeif.path|q\"\\r",
                                          "a.c|1",
                                          "x.z|"};
  EXPECT_EQ(found, expected);
  const SystemClock clock;
  ProcessRequest request;
  request.argv = {"git", "config", "--file", file, "--get-all", "core.hooksPath"};
  request.environment = {"PATH=/usr/bin:/bin"};
  const auto ran = run_process(request, clock, CancelToken(), Deadline::after(clock, Milliseconds(60'000)));
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->output, "a\nc d e  f\n");
}

TEST(GitSettings, LeadToHooksProgramsAndFurtherFiles) {
  const TempDir directory;
  const std::string file = directory.file("config");
  std::ofstream(file) << "[include]\n\tpath = more\n\tpath = config\n[core]\n\tfsmonitor = true\n";
  std::ofstream(directory.file("more")) << "[core]\n\thooksPath = ~/hooks\n\tfsmonitor = bin/watch --fast\n";
  const cage::GitTargets found = cage::git_targets({file}, "/home/n");
  EXPECT_EQ(found.hooks, std::vector<std::string>{"/home/n/hooks"});
  EXPECT_EQ(found.programs, std::vector<std::string>{"bin/watch"});
  EXPECT_EQ(found.files, (std::vector<std::string>{directory.file("more"), file}));
}

}  // namespace
}  // namespace agentd::testing
