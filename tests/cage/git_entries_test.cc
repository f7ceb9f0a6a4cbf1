// SPDX-License-Identifier: Apache-2.0
// git_entries_test.cc - a command leads the user's Git into no repository by an index that Git would not write.
#include "tests/cage/cage_test.h"

namespace agentd::testing {
namespace {

class GitEntries : public InEachLayer {
 protected:
  std::string mark() const { return stage_.home() + "/ran"; }
  // A repository that runs a program when Git enters it.
  std::string planted(const std::string& top) const {
    return "git init -q " + top + "; git -C " + top + " commit -q --allow-empty -m x; git -C " + top +
           " config core.fsmonitor 'touch " + mark() + "; false'\n";
  }
  // Puts an entry for it into the index, under any name.
  static std::string named(const std::string& path) {
    const std::string other(path.size(), 'z');
    return "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD)," + other + "; LC_ALL=C sed -i 's," +
           other + "," + path + ",' .git/index\n";
  }
  bool runs() const {
    user("git status >/dev/null 2>&1 || true");
    return std::filesystem::exists(mark());
  }
  void expect_refused(const std::string& script) {
    SCOPED_TRACE(script);
    const Ran ran = run(script);
    EXPECT_FALSE(ran.remarks.empty()) << ran.output;
    EXPECT_FALSE(runs());
  }
  void start_again() const {
    user("chmod -f 755 . .git e || true; rm -rf .git d e; git init -q .; git add a; git commit -qm a; mkdir d e");
  }
};

TEST_P(GitEntries, TheControlRuns) {
  user("mkdir d e\n" + planted("e/nn") + named("d/../e/nn"));
  EXPECT_TRUE(runs());
}

TEST_P(GitEntries, APathIsWhatItLeadsTo) {
  for (const char* const path : {"d/../e/nn", "./e/nn", "e//nn", "e/nn/", "d/.././e/nn"}) {
    start_again();
    expect_refused(planted("e/nn") + named(path));
  }
  start_again();
  expect_refused(planted("e/nn") + named(file("e/nn")));
  start_again();
  expect_refused(planted(".git/evil") + named(".git/evil"));
}

// One that is there is guarded.
TEST_P(GitEntries, SoItIsInTheNextCommand) {
  for (const char* const path : {"d/../e/nn", ".git/evil"}) {
    start_again();
    const std::string top = *path == 'd' ? "e/nn" : path;
    user("git init -q " + top + "; git -C " + top + " commit -q --allow-empty -m x\n" + named(path));
    const Ran ran = run("git -C " + top + " config core.fsmonitor 'touch " + mark() + "; false'");
    EXPECT_TRUE(ran.code != 0 || !ran.remarks.empty()) << ran.output;
    EXPECT_FALSE(runs());
  }
}

TEST_P(GitEntries, AnIndexThatLeadsOutOfTheRootIsUndone) {
  user("mkdir -p ../elsewhere/nn; cd ../elsewhere\n" + planted("nn"));
  for (const std::string& path : {std::string("../elsewhere/nn"), stage_.project() + "/../elsewhere/nn"}) {
    start_again();
    const Ran ran = run(named(path));
    ASSERT_EQ(ran.remarks.size(), 1u) << ran.output;
    EXPECT_NE(ran.remarks[0].find(".git/index"), std::string::npos) << ran.remarks[0];
    EXPECT_FALSE(runs());
  }
}

TEST_P(GitEntries, ANameIsWhatGitTakesForIt) {
  // The byte behind the flags is the end of the length of a name: shorter, and a zero within it.
  start_again();
  expect_refused(planted("e/nn") + "git add e/nn 2>/dev/null; LC_ALL=C sed -i 's,\\x04e/nn,\\x03e/nn,' .git/index");
  start_again();
  expect_refused(planted("e/nn") + named("e/nn#x") + "LC_ALL=C sed -i 's,e/nn#x,e/nn\\x00x,' .git/index");
}

TEST_P(GitEntries, ADirectoryThatCannotBeListedIsSearched) {
  for (const char* const closed : {"e", ".", ".git"}) {
    start_again();
    const std::string top = *closed == 'e' ? "e/nn" : ".git/evil";
    expect_refused(planted(top) + named(top) + "git update-index --split-index; chmod 0311 " + closed);
  }
}

// A table of the entries that names others than those in sequence, which are in an extension of no meaning.
TEST_P(GitEntries, ATableOfTheEntriesIsRead) {
  const auto number = [](std::size_t value) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
    return out;
  };
  const auto entries = [&] {
    const std::string index = text(".git/index");
    return index.substr(12, index.size() - 12 - 20);
  };
  for (const bool hides : {false, true}) {
    start_again();
    user(
        "git config --global index.threads 4; git config --global index.recordOffsetTable false\n"
        "git config --global index.recordEndOfIndexEntries false; git commit -q --allow-empty -m x");
    user("rm .git/index; git add a\n" + named(".git/evil"));
    const std::string hidden = entries();
    user("rm .git/index; touch b; git add a b");
    const std::string shown = entries(), head = text(".git/index").substr(0, 12);
    ASSERT_EQ(head.substr(8), number(2));
    const std::size_t from = 12 + shown.size();
    const std::string first = "AAAA" + number(hidden.size()), second = "IEOT" + number(12);
    put("headers", first + second);
    user("sha1sum headers | cut -c1-40 | sed 's/../\\\\x&/g' >sum; printf \"$(cat sum)\" >hash; rm headers sum");
    put("crafted", head + shown + first + hidden + second + number(1) + number(from + 8) + number(2) + "EOIE" +
                       number(24) + number(from) + text("hash") + std::string(20, '\0'));
    if (hides) {
      expect_refused(planted(".git/evil") + "cp crafted .git/index");
    } else {
      user(planted(".git/evil") + "cp crafted .git/index");
      EXPECT_TRUE(runs()) << "the control";
      std::filesystem::remove(mark());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, GitEntries, ::testing::Values(cage::Layer::kBubblewrap, cage::Layer::kLandlock),
                         layer_name);

}  // namespace
}  // namespace agentd::testing
