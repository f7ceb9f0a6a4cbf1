// SPDX-License-Identifier: Apache-2.0
// floor_test.cc - what the filter and the keeper let through and what not, on each layer. hostile.txt has the attacks.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/cage/stage.h"

namespace agentd::testing {
namespace {

class Floor : public ::testing::TestWithParam<cage::Layer> {
 protected:
  void SetUp() override {
    if (!cage::probe(cage_helper()).of(GetParam()).holds) GTEST_SKIP() << "this machine cannot make it";
  }
  Ran run(const std::string& script, std::vector<std::string> network = {}) {
    cage::CageSettings settings = stage_.settings();
    settings.network = std::move(network);
    auto cage = cage::Cage::make(std::move(settings), GetParam());
    if (!cage) return {-1, cage.error().message, {}};
    return stage_.run(cage->get(), script);
  }
  unsigned mode_of(const std::string& name) const {
    struct stat info {};
    return ::stat((stage_.project() + "/" + name).c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }

  Stage stage_;
};

// Such a directory hands its group down, which shared repositories use.
TEST_P(Floor, LetsDirectoriesHaveTheBitOfTheGroup) {
  const Ran ran =
      run("umask 022 && mkdir -m 2775 a-directory && mkdir b && chmod g+s b && cp -rp a-directory c && "
          "git init -q --shared=group d && touch a-directory/file");
  EXPECT_EQ(ran.code, 0) << ran.output;
  for (const char* const name : {"a-directory", "b", "c", "d/.git/objects"})
    EXPECT_NE(mode_of(name) & S_ISGID, 0u) << name;
  EXPECT_EQ(mode_of("a-directory/file") & (S_ISUID | S_ISGID), 0u);
}

TEST_P(Floor, SaysThatAFileMayNotHaveTheBits) {
  for (const char* const script : {"touch x && chmod u+s x", "touch x && chmod g+s x"}) {
    const Ran ran = run(script);
    EXPECT_EQ(ran.code, 1) << script;
    EXPECT_NE(ran.output.find("Operation not permitted"), std::string::npos) << ran.output;
  }
  EXPECT_EQ(run("touch y && chmod 1755 y && chmod 640 y").code, 0) << "other bits are free";
  EXPECT_EQ(mode_of("y"), 0640u);
}

// Without O_CREAT the register of the mode holds anything.
TEST_P(Floor, OpensAFileWhateverTheUnusedModeIs) {
  const Ran ran = run("python3 -c 'import ctypes;l=ctypes.CDLL(None);exit(l.syscall(257,-100,b\"a\",0,0o6777)<0)'");
  EXPECT_EQ(ran.code, 0) << ran.output;
}

// ---- remarks behind a failed command

TEST_P(Floor, SaysThatTheNetworkIsOff) {
  const std::string remark =
      "network is off for commands; 'sandbox.network: [HOST]' in your settings would allow a host";
  for (const char* const script :
       {"git ls-remote https://example.org/x.git", "echo 'lookup example.org: no such host'; exit 1",
        "python3 -c 'import socket; socket.getaddrinfo(\"example.org\", 80)'"}) {
    const Ran ran = run(script);
    EXPECT_NE(ran.code, 0) << script;
    EXPECT_EQ(ran.remarks, std::vector<std::string>{remark}) << script << ": " << ran.output;
  }
  EXPECT_EQ(run("curl -sS https://example.org 2>&1 | tail -1").remarks, std::vector<std::string>{remark})
      << "in a pipe";
  EXPECT_TRUE(run("false").remarks.empty());
}

TEST_P(Floor, SaysWhatToDoWhenTheSettingsOfGitStay) {
  const Ran ran = run("git remote add other https://example.org/x.git");
  EXPECT_EQ(ran.remarks.size(), 1u) << ran.output;
  if (GetParam() == cage::Layer::kLandlock) return;  // it is undone afterwards, which has a remark of its own
  EXPECT_NE(ran.code, 0);
  EXPECT_NE(ran.remarks.at(0).find("in your own terminal"), std::string::npos) << ran.remarks.at(0);
}

TEST_P(Floor, SaysThatNothingIsSigned) {
  const Ran ran = run("echo b > a && git -c gpg.program=false commit -qaS -m two");
  EXPECT_NE(ran.code, 0);
  ASSERT_EQ(ran.remarks.size(), 1u) << ran.output;
  EXPECT_NE(ran.remarks[0].find("--amend -S"), std::string::npos);
}

// ---- the network

TEST_P(Floor, ReachesThisMachineOnlyByARuleForItsAddress) {
  std::string port = stage_.run(nullptr, "printf %s $TCP").output;
  const auto through_proxy = [](const std::string& host) {
    return "exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'CONNECT " + host +
           ":%s HTTP/1.1\\r\\n\\r\\n' $TCP >&3 && head -1 <&3 && echo hello >&3";
  };
  for (const char* const host : {"127.0.0.1", "[::ffff:127.0.0.1]", "localhost", "[64:ff9b::127.0.0.1]"}) {
    const Ran ran = run(through_proxy(host), {"*:" + port});
    EXPECT_NE(ran.output.find("502"), std::string::npos) << host << ": " << ran.output;
    ASSERT_EQ(ran.remarks.size(), 1u) << host;
    EXPECT_NE(ran.remarks[0].find("leads to this machine"), std::string::npos) << ran.remarks[0];
    EXPECT_EQ(stage_.harm(ran), "") << host;
  }
  const Ran ran = run(through_proxy("127.0.0.1") + "; cat <&3", {"127.0.0.1:" + port});
  EXPECT_NE(ran.output.find("200"), std::string::npos) << ran.output;
  EXPECT_TRUE(ran.remarks.empty());
  EXPECT_EQ(stage_.harm(ran), "something arrived at the sink") << "the control";
}

// ---- many submodules

// Repositories of submodules, as far as they are guarded.
void make_modules(const std::string& project, int count) {
  namespace fs = std::filesystem;
  for (int i = 0; i < count; ++i) {
    const std::string module = project + "/.git/modules/m" + std::to_string(i);
    for (const char* const name : {"/objects", "/refs", "/hooks"}) fs::create_directories(module + name);
    for (const char* const name : {"/HEAD", "/config"}) std::ofstream(module + name) << "x\n";
  }
}

TEST_P(Floor, GuardsSubmodulesOneByOne) {
  make_modules(stage_.project(), 60);
  const Ran ran = run("echo y > .git/modules/m7/index && echo y > .git/modules/m59/index");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_TRUE(ran.remarks.empty());
  const Ran evil = run("echo evil > .git/modules/m59/hooks/post-checkout; echo evil >> .git/modules/m7/config");
  EXPECT_TRUE(evil.code != 0 || evil.remarks.size() == 2) << evil.output;
  EXPECT_FALSE(std::filesystem::exists(stage_.project() + "/.git/modules/m59/hooks/post-checkout"));
}

TEST_P(Floor, GuardsThousandsOfSubmodules) {
  make_modules(stage_.project(), 1'500);
  const Ran fine = run("echo b > a && git commit -qam two");
  EXPECT_EQ(fine.code, 0) << fine.output;
  const Ran evil = run("echo evil > .git/modules/m1499/hooks/post-checkout");
  EXPECT_TRUE(evil.code != 0 || evil.remarks.size() == 1) << evil.output;
  EXPECT_FALSE(std::filesystem::exists(stage_.project() + "/.git/modules/m1499/hooks/post-checkout"));
  if (GetParam() == cage::Layer::kLandlock) return;
  const Ran commit = run("echo y > .git/modules/m7/index");
  EXPECT_NE(commit.code, 0);
  ASSERT_EQ(commit.remarks.size(), 1u);
  EXPECT_NE(commit.remarks[0].find("more submodules"), std::string::npos);
}

// ---- descriptors

// Landlock alone hides no process.
TEST_P(Floor, ShowsNoProcessesOutsideOfAView) {
  EXPECT_EQ(run("[ -e /proc/$VICTIM ]").code == 0, GetParam() == cage::Layer::kLandlock);
}

// Those of the orders and of bubblewrap's words.
TEST_P(Floor, PassesNoDescriptorOn) {
  const Ran ran = run("ls /proc/self/fd | wc -l");
  EXPECT_EQ(ran.output, "4\n") << "0 to 2, and the directory that is listed";
}

INSTANTIATE_TEST_SUITE_P(Layers, Floor, ::testing::Values(cage::Layer::kBubblewrap, cage::Layer::kLandlock),
                         [](const auto& each) { return std::string(cage::name_of(each.param)); });

}  // namespace
}  // namespace agentd::testing
