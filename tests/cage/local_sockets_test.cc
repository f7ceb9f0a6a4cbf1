// SPDX-License-Identifier: Apache-2.0
// local_sockets_test.cc - a command reaches nobody who listens at a local socket that it can see, in each layer; and
// what needs no such socket works as before.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cage/each_layer.h"

namespace agentd::testing {
namespace {

std::string python(const std::string& program) { return "python3 -c 'import socket,os\n" + program + "'"; }

std::string connect_to(const std::string& path) {
  return python("s=socket.socket(socket.AF_UNIX)\ns.connect(\"" + path + "\")\nprint(\"sent\")");
}

std::string send_to(const std::string& path, const std::string& socket = "socket.socket(1,2)") {
  return python("s=" + socket + "\ns.sendto(b\"x\",\"" + path + "\")\nprint(\"sent\")");
}

class LocalSockets : public CageTest {
 protected:
  LocalSockets() {
    std::filesystem::create_directories(places_[0]);
    std::filesystem::create_directories(places_[1]);
    for (const std::string& place : places_) sinks_.push_back(std::make_unique<Sink>(place));
  }
  cage::CageSettings settings(bool allowed) const {
    cage::CageSettings out = stage_.settings();
    out.readable = {places_[1]};
    out.local_sockets = allowed;
    return out;
  }
  int arrived() const { return sinks_[0]->arrived() + sinks_[1]->arrived(); }
  // Each way to each socket. A pair of datagram sockets sends to any other by its name.
  std::vector<std::string> ways() const {
    std::vector<std::string> out;
    for (const std::string& place : places_) {
      out.push_back(connect_to(place + "/stream"));
      out.push_back(send_to(place + "/dgram"));
      out.push_back(send_to(place + "/dgram", "socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM)[0]"));
      out.push_back(send_to(place + "/dgram", "socket.socketpair(socket.AF_UNIX,socket.SOCK_RAW)[0]"));
    }
    return out;
  }
  // A name in no directory; in a network of its own nobody listens there.
  std::string abstract() const {
    return sinks_[0]->environment() +
           python("s=socket.socket(socket.AF_UNIX)\ns.connect(\"\\0\"+os.environ[\"ABSTRACT\"])\nprint(\"sent\")");
  }

  const std::string places_[2] = {stage_.project() + "/run", stage_.home() + "/shown"};
  std::vector<std::unique_ptr<Sink>> sinks_;
};

TEST_P(LocalSockets, LeadNowhereOutOfTheSandbox) {
  for (const bool all_network : {false, true}) {
    cage::CageSettings closed = settings(false);
    closed.all_network = all_network;
    for (const std::string& way : ways()) {
      const Ran ran = run(way, closed);
      EXPECT_NE(ran.output.find("PermissionError"), std::string::npos) << way << "\n" << ran.output;
    }
    EXPECT_NE(run(abstract(), closed).code, 0);
  }
  EXPECT_EQ(arrived(), 0);
}

// What the setting says that it opens, it opens; not so in the layer that has none.
TEST_P(LocalSockets, LeadOutWithTheSetting) {
  for (const std::string& way : ways()) {
    const Ran ran = run(way, settings(true));
    if (alone())
      EXPECT_NE(ran.output.find("PermissionError"), std::string::npos) << way << "\n" << ran.output;
    else
      EXPECT_EQ(ran.output, "sent\n") << way;
  }
  EXPECT_NE(run(abstract(), settings(true)).code, 0) << "it is of another network";
  const SystemClock clock;
  for (int i = 0; i < 3'000 && !alone() && arrived() == 0; ++i) clock.pause(Milliseconds(10));
  EXPECT_EQ(arrived() == 0, alone());
}

TEST_P(LocalSockets, LeadOutWithoutASandbox) {
  for (const std::string& way : ways()) EXPECT_EQ(stage_.run(nullptr, way).output, "sent\n") << way;
  EXPECT_EQ(stage_.run(nullptr, abstract()).output, "sent\n");
}

// The user's terminal multiplexer, say, which starts programs.
TEST_P(LocalSockets, AMultiplexerInTheWorkspaceRunsNothing) {
  if (stage_.run(nullptr, "command -v tmux").code != 0) GTEST_SKIP() << "tmux is not installed";
  const std::string tmux = "env -u TMUX tmux -S " + stage_.project() + "/dev.sock ";
  ASSERT_EQ(std::system((tmux + "-f /dev/null new-session -d 'sleep 300'").c_str()), 0);
  const std::string order = tmux + "run-shell 'touch " + stage_.outside() + "/ran'";
  const Ran ran = run(order);
  EXPECT_NE(ran.code, 0) << ran.output;
  EXPECT_FALSE(std::filesystem::exists(stage_.outside() + "/ran"));
  EXPECT_EQ(stage_.run(nullptr, order).code, 0);
  EXPECT_TRUE(std::filesystem::exists(stage_.outside() + "/ran")) << "the control";
  (void)stage_.run(nullptr, tmux + "kill-server");
}

// ---- what needs none

TEST_P(LocalSockets, APairOfStreamsWorks) {
  EXPECT_EQ(run(python("a,b=socket.socketpair()\na.send(b\"x\")\nprint(b.recv(1))")).output, "b'x'\n");
  EXPECT_EQ(run(python("a,b=socket.socketpair(socket.AF_UNIX,socket.SOCK_SEQPACKET)\na.send(b\"x\")\n"
                       "print(b.recv(1))"))
                .output,
            "b'x'\n");
}

// Its semaphores are in /dev/shm, which Landlock alone has none of.
TEST_P(LocalSockets, ProcessesOfPythonTalkWithoutOne) {
  const Ran ran =
      run("cat > pool.py <<'E'\nimport multiprocessing as m, sqlite3\n"
          "def square(x): return x * x\nif __name__ == '__main__':\n"
          "  with m.get_context('fork').Pool(2) as p: print(p.map(square, [1, 2, 3]))\n"
          "  with m.get_context('spawn').Pool(2) as p: print(p.map(square, [4]))\n"
          "  d = sqlite3.connect('x.db'); d.execute('create table t (a)'); print('stored')\nE\n"
          "python3 pool.py");
  if (alone())
    EXPECT_NE(ran.output.find("SemLock"), std::string::npos) << ran.output;
  else
    EXPECT_EQ(ran.output, "[1, 4, 9]\n[16]\nstored\n");
}

TEST_P(LocalSockets, ChildrenOfNodeTalkWithoutOne) {
  if (stage_.run(nullptr, "command -v node").code != 0) GTEST_SKIP() << "node is not installed";
  const Ran ran =
      run("cat > w.js <<'E'\nconst {fork, execFileSync} = require('child_process'); const {Worker} = "
          "require('worker_threads');\nif (process.argv[2]) { process.on('message', m => { process.send(m + 1); "
          "process.disconnect(); }); } else {\n  const c = fork(__filename, ['child']); c.on('message', m => { "
          "console.log(m);\n    console.log(execFileSync('echo', ['piped']).toString().trim());\n    new Worker("
          "'require(\"worker_threads\").parentPort.postMessage(\"worked\")', {eval: true}).on('message', t => "
          "console.log(t)); });\n  c.send(1);\n}\nE\nnode w.js");
  EXPECT_EQ(ran.output, "2\npiped\nworked\n");
}

// Landlock alone has no network of its own, and says nothing of local sockets.
TEST_P(LocalSockets, AServerOfNodeAnswersInItsOwnNetwork) {
  if (stage_.run(nullptr, "command -v node").code != 0) GTEST_SKIP() << "node is not installed";
  const Ran ran =
      run("node -e 'const h = require(\"http\"); const s = h.createServer((q, r) => r.end(\"served\"));"
          "s.listen(0, () => h.get({port: s.address().port}, r => { r.on(\"data\", d => console.log(String(d)));"
          " r.on(\"end\", () => s.close()); }));'");
  EXPECT_EQ(ran.output == "served\n", !alone()) << ran.output;
  EXPECT_EQ(ran.output.find("EACCES") != std::string::npos, alone()) << ran.output;
  for (const std::string& each : ran.remarks) EXPECT_EQ(each.find("local sockets"), std::string::npos) << each;
}

TEST_P(LocalSockets, GitAndMakeNeedNone) {
  const Ran ran =
      run("printf 'all: a1 a2\\na1 a2:\\n\\t@echo $@ > $@\\n' > Makefile && make -sj2 && cat a1 a2 && git add a1 && "
          "git commit -qm made && git log --oneline | wc -l");
  EXPECT_EQ(ran.output, "a1\na2\n2\n");
  EXPECT_TRUE(ran.remarks.empty());
}

// A key of the command's own: gpg asks its agent, which listens at a local socket.
TEST_P(LocalSockets, SigningWithAKeyOfItsOwnTakesTheSetting) {
  if (stage_.run(nullptr, "command -v gpg").code != 0) GTEST_SKIP() << "gpg is not installed";
  const std::string sign =
      "export GNUPGHOME=$TMPDIR/g && mkdir -m 700 $GNUPGHOME && gpg -q --batch --passphrase '' --quick-gen-key a@b "
      "default default 0 && echo c > a && git -c user.signingkey=a@b commit -S -qam signed && git cat-file commit HEAD "
      "| grep -c ^gpgsig; code=$?; gpgconf --kill gpg-agent; exit $code";
  const Ran refused = run(sign);
  EXPECT_NE(refused.code, 0) << refused.output;
  ASSERT_FALSE(refused.remarks.empty()) << refused.output;
  EXPECT_NE(refused.remarks[0].find("sandbox.local_sockets: true"), std::string::npos) << refused.remarks[0];
  const Ran ran = run(sign, settings(true));
  if (alone()) {
    EXPECT_NE(ran.code, 0) << "this layer has none";
    return;
  }
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_TRUE(ran.output.ends_with("1\n")) << ran.output;
}

INSTANTIATE_TEST_SUITE_P(Layers, LocalSockets, each_layer(), name_of_layer);

}  // namespace
}  // namespace agentd::testing
