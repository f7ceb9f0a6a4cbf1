// SPDX-License-Identifier: Apache-2.0
// pains_builds_test.cc - package managers, compilers, keys and local sockets in the cage: what works, and what fails
// where a key or a socket would be needed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/cage/each_layer.h"

namespace agentd::testing {
namespace {

class Builds : public CageTest {
 protected:
  bool has(const std::string& program) { return stage_.run(nullptr, "command -v " + program).code == 0; }
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = stage_.project() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
};

// ---- keys

// A key of SSH with which the user's settings sign every commit.
class Signing : public Builds {
 protected:
  void SetUp() override {
    Builds::SetUp();
    if (IsSkipped()) return;
    const Ran made =
        stage_.run(nullptr,
                   "ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_sign && git config --global gpg.format ssh "
                   "&& git config --global user.signingkey ~/.ssh/id_sign.pub && git config --global "
                   "commit.gpgSign true && echo b > a && git commit -qam signed");
    if (made.code != 0) GTEST_SKIP() << "no signing with SSH here: " << made.output;
    ASSERT_EQ(signatures(), 1) << "the control: outside of the cage it is signed";
  }
  int signatures() {
    return std::stoi(
        stage_.run(nullptr, "git log --format=%H | xargs -n1 git cat-file commit | grep -c ^gpgsig").output);
  }
  int commits() { return std::stoi(stage_.run(nullptr, "git rev-list --count HEAD").output); }
};

TEST_P(Signing, ACommitIsMadeWithoutASignature) {
  const Ran ran = run("echo c > a && git commit -qam three");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_EQ(commits(), 3);
  EXPECT_EQ(signatures(), 1);
}

TEST_P(Signing, ACommitThatMustBeSignedFailsAndTheKeyStaysOutside) {
  for (const char* const script :
       {"echo c > a && git commit -S -qam three", "echo c > a && git -c commit.gpgSign=true commit -qam three",
        "ssh-keygen -Y sign -n git -f ~/.ssh/id_sign < a", "cat ~/.ssh/id_sign",
        "GIT_CONFIG_COUNT=0 git commit --allow-empty -qm three"}) {
    const Ran ran = run(script);
    EXPECT_NE(ran.code, 0) << script << "\n" << ran.output;
    EXPECT_EQ(ran.output.find("PRIVATE KEY"), std::string::npos) << script << "\n" << ran.output;
    EXPECT_EQ(ran.output.find("BEGIN SSH SIGNATURE"), std::string::npos) << script << "\n" << ran.output;
  }
  EXPECT_EQ(commits(), 2);
  // Git 2.39 makes the tag all the same, without a signature.
  (void)run("git tag -s -m m v1");
  EXPECT_EQ(stage_.run(nullptr, "git cat-file tag v1 2>/dev/null | grep -c SIGNATURE").output, "0\n");
}

TEST_P(Builds, AKeyOfGpgStaysOutside) {
  if (!has("gpg")) GTEST_SKIP() << "gpg is not installed";
  EXPECT_NE(run("echo c > a && git commit -S -qam two").code, 0);
  EXPECT_NE(run("gpg --batch --list-secret-keys 2>/dev/null | grep -q sec").code, 0);
}

// ---- local sockets

constexpr const char* kTalk =
    "python3 -c '\nimport socket,os,threading\np=os.environ[\"TMPDIR\"]+\"/s\"\ns=socket.socket(socket.AF_UNIX);"
    "s.bind(p);s.listen(1)\nt=threading.Thread(target=lambda:s.accept()[0].sendall(b\"heard\"));t.start()\n"
    "c=socket.socket(socket.AF_UNIX);c.connect(p);print(c.recv(9).decode())'";

// A server and its client in one command: what is refused says so at once, with the line that would allow it.
TEST_P(Builds, NoLocalSocketsUnlessTheSettingAllowsThem) {
  const Ran ran = run(kTalk);
  EXPECT_NE(ran.code, 0);
  EXPECT_NE(ran.output.find("PermissionError"), std::string::npos) << ran.output;
  if (alone()) return;  // Python does not say of which kind it was
  ASSERT_EQ(ran.remarks.size(), 1u) << ran.output;
  EXPECT_NE(ran.remarks[0].find("sandbox.local_sockets: true"), std::string::npos) << ran.remarks[0];
}

TEST_P(Builds, LocalSocketsInItsOwnTmpWithTheSetting) {
  cage::CageSettings settings = stage_.settings();
  settings.local_sockets = true;
  const Ran ran = run(kTalk, settings);
  if (alone()) {
    EXPECT_NE(ran.output.find("PermissionError"), std::string::npos) << "Landlock alone has none: " << ran.output;
  } else {
    EXPECT_EQ(ran.output, "heard\n");
  }
}

TEST_P(Builds, NoSocketOfTheMachinesTmp) {
  const TempDir tmp;
  const Sink sink(tmp.path());
  const std::string script = "python3 -c 'import socket;socket.socket(socket.AF_UNIX).connect(\"" + tmp.path() +
                             "/stream\");print(\"connected\")'";
  EXPECT_NE(run(script).code, 0);
  EXPECT_EQ(sink.arrived(), 0);
  EXPECT_EQ(stage_.run(nullptr, script).output, "connected\n") << "the control";
}

// ---- package managers and their caches

TEST_P(Builds, NpmInstallsAndTests) {
  if (!has("npm")) GTEST_SKIP() << "npm is not installed";
  write("lib/package.json", R"({"name":"lib","version":"1.0.0","main":"index.js"})");
  write("lib/index.js", "module.exports = 42;\n");
  write("package.json", R"({"name":"app","version":"1.0.0","scripts":{"test":"node test.js"}})");
  write("test.js", "require('assert').equal(require('lib'), 42); console.log('tested');\n");
  const Ran ran =
      run("npm pack --silent ./lib && npm install --silent --offline --no-audit --no-fund ./lib-1.0.0.tgz "
          "&& npm test --silent");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_NE(ran.output.find("tested"), std::string::npos) << ran.output;
  EXPECT_FALSE(std::filesystem::exists(stage_.home() + "/.npm")) << "its cache is the cage's own";
}

TEST_P(Builds, PythonMakesAnEnvironment) {
  const Ran ran =
      run("python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix != "
          "sys.base_prefix)'");
  EXPECT_EQ(ran.output, "True\n");
}

// The toolchain is where rustup puts it, in a home.
TEST_P(Builds, CargoBuildsAndTests) {
  const char* const path = std::getenv("PATH");
  const std::string find = "unset HOME; PATH=" + std::string(path == nullptr ? "" : path) + " rustc --print sysroot";
  Ran found = stage_.run(nullptr, find);
  while (found.output.ends_with('\n')) found.output.pop_back();
  if (found.code != 0 || !std::filesystem::exists(found.output + "/bin/cargo")) GTEST_SKIP() << "no cargo here";
  cage::CageSettings settings = stage_.settings();
  settings.readable = {found.output};
  const Ran ran =
      run("export PATH=" + found.output + "/bin:$PATH; cargo init -q --lib --vcs none --name app . && cargo " +
              "test -q --offline -j2 && cargo build -q --offline",
          settings);
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_TRUE(std::filesystem::exists(stage_.project() + "/target/debug/libapp.rlib")) << ran.output;
}

TEST_P(Builds, CompilesWithCcache) {
  if (!has("ccache") || !has("gcc")) GTEST_SKIP() << "ccache is not installed";
  write("b.c", "int main(void) { return 3; }\n");
  EXPECT_EQ(run("ccache gcc -o b b.c && ./b").code, 3);
  EXPECT_FALSE(std::filesystem::exists(stage_.home() + "/.ccache"));
}

// One build's cache is there for the next, and the user's own is as it was.
TEST_P(Builds, TheCacheOfAWorkspaceStays) {
  std::filesystem::create_directories(stage_.home() + "/.cache/pip");
  std::ofstream(stage_.home() + "/.cache/pip/wheel") << "of the user\n";
  EXPECT_EQ(run("echo one > $XDG_CACHE_HOME/x").code, 0);
  EXPECT_EQ(run("cat $XDG_CACHE_HOME/x").output, "one\n");
  (void)run("echo evil > ~/.cache/pip/wheel");
  std::ifstream kept(stage_.home() + "/.cache/pip/wheel");
  std::string text;
  std::getline(kept, text);
  EXPECT_EQ(text, "of the user");
}

// ---- repositories whose .git is a file

TEST_P(Builds, CommitsInASubmodule) {
  const Ran made = stage_.run(
      nullptr,
      "git init -q ../other && cd ../other && echo x > x && git add x && git commit -qm x && cd ../project && git -c "
      "protocol.file.allow=always submodule --quiet add ../other sub && git commit -qm sub && test -f sub/.git");
  ASSERT_EQ(made.code, 0) << made.output;
  const Ran ran = run("cd sub && echo y > x && git commit -qam two && git log --oneline | wc -l");
  EXPECT_EQ(ran.output, "2\n");
  EXPECT_TRUE(ran.remarks.empty());
  const Ran evil = run("echo evil > .git/modules/sub/hooks/pre-commit");
  EXPECT_TRUE(evil.code != 0 || evil.remarks.size() == 1);
  EXPECT_FALSE(std::filesystem::exists(stage_.project() + "/.git/modules/sub/hooks/pre-commit"));
}

INSTANTIATE_TEST_SUITE_P(Layers, Builds, each_layer(), name_of_layer);
INSTANTIATE_TEST_SUITE_P(Layers, Signing, each_layer(), name_of_layer);

}  // namespace
}  // namespace agentd::testing
