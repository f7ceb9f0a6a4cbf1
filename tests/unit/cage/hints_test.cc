// SPDX-License-Identifier: Apache-2.0
// hints_test.cc - a failed command gets the remark that fits its output and its cage, once, and others get none.
#include "core/cage/hints.h"

#include <gtest/gtest.h>

#include "core/process/command_cage.h"

namespace agentd::cage {
namespace {

constexpr CageFacts kOff{true, false, false}, kProxy{false, true, false}, kOpen{}, kModules{false, false, true, true};

std::string only(const CageFacts& facts, std::string_view output) {
  const auto got = hints_for(facts, output);
  EXPECT_LE(got.size(), 1u);
  return got.empty() ? "" : got.front();
}

TEST(Hints, SayThatTheNetworkIsOff) {
  const std::string remark =
      "network is off for commands; 'sandbox.network: [HOST]' in your settings would allow a host";
  for (const char* const output :
       {"curl: (6) Could not resolve host: example.org", "ssh: Could not resolve hostname github.com",
        "fatal: unable to access 'https://x/': Could not resolve host: x", "wget: unable to resolve host address 'x'",
        "ping: x: Temporary failure in name resolution", "socket.gaierror: [Errno -2] Name or service not known",
        "npm ERR! code EAI_AGAIN", "Error: getaddrinfo ENOTFOUND packages.example.org",
        "dial tcp: lookup modules.example.org: no such host", "failed to lookup address information: Name",
        "connect: Network is unreachable", "java.net.UnknownHostException: repo.maven.apache.org"})
    EXPECT_EQ(only(kOff, output), remark) << output;
  EXPECT_EQ(only(kOff, "Could not resolve host: a\nCould not resolve host: b\nEAI_AGAIN"), remark) << "once";
}

TEST(Hints, SayThatAGuardedPathIsHeldByAMount) {
  CageFacts facts;
  const char* const output = "error: failed to delete '/p/wt': Device or resource busy";
  EXPECT_TRUE(hints_for(facts, output).empty());
  facts.has_mounts = true;
  ASSERT_EQ(hints_for(facts, output).size(), 1u);
  EXPECT_NE(hints_for(facts, output)[0].find("git worktree remove"), std::string::npos);
}

TEST(Hints, SayNothingWithoutAReason) {
  EXPECT_EQ(only(kOff, "error: expected ';'"), "");
  EXPECT_EQ(only(kOff, ""), "");
  EXPECT_EQ(only(kOpen, "Could not resolve host: a"), "") << "it has the network";
}

constexpr CageFacts kNoSockets{.local_sockets = CageFacts::LocalSockets::kClosed},
    kNeverSockets{.local_sockets = CageFacts::LocalSockets::kNever};

TEST(Hints, NameTheSettingOfLocalSockets) {
  for (const char* const output :
       {"    s = socket.socket(socket.AF_UNIX)\nPermissionError: [Errno 13] Permission denied",
        "Error: listen EACCES: permission denied /tmp/x.sock", "error connecting to dev.sock (Permission denied)",
        "FATAL:  could not create Unix socket for address \"/tmp\": Permission denied",
        "gpg: can't connect to the agent: General error", "dial unix /tmp/x: socket: permission denied"}) {
    EXPECT_NE(only(kNoSockets, output).find("'sandbox.local_sockets: true' in your settings would"), std::string::npos)
        << output;
    EXPECT_NE(only(kNeverSockets, output).find("in the layer landlock"), std::string::npos) << output;
    EXPECT_EQ(only(kOpen, output), "") << "the control: " << output;
  }
  const char* const python =
      "    _socket.socket.__init__(self, family, type, proto, fileno)\nPermissionError: [Errno 13]";
  EXPECT_NE(only(kNoSockets, python).find("sandbox.local_sockets"), std::string::npos);
  EXPECT_EQ(only(kNeverSockets, python), "") << "it may have been one of the internet";
  EXPECT_EQ(only(kNoSockets, "src/a.c: socket(AF_UNIX, SOCK_STREAM, 0)"), "") << "no refusal is told";
  EXPECT_EQ(only(kNoSockets, "cat: x: Permission denied"), "") << "nor a socket";
}

// Lost as it would be otherwise: the home is not the workspace.
TEST(Hints, SayWhereCommandsWrite) {
  EXPECT_NE(only(kOff, "touch: cannot touch '/home/u/x': Read-only file system").find("sandbox.writable"),
            std::string::npos);
}

TEST(Hints, NameTheProxyWhereThereIsOne) {
  EXPECT_NE(only(kProxy, "ping: x: Temporary failure in name resolution").find("HTTP_PROXY"), std::string::npos);
}

TEST(Hints, SayWhatToDoForGit) {
  EXPECT_NE(only(kOff, "error: could not lock config file .git/config: Read-only file system").find("terminal"),
            std::string::npos);
  EXPECT_NE(only(kOpen, "error: could not write config file .git/config: Device or resource busy").find("git config"),
            std::string::npos);
  EXPECT_NE(only(kOpen, "error: gpg failed to sign the data\nfatal: failed to write commit object").find("--amend -S"),
            std::string::npos);
  EXPECT_NE(only(kModules, "fatal: Unable to create 'x/index.lock': Read-only file system").find("submodules"),
            std::string::npos);
}

TEST(Hints, SearchTheEndOfALongOutput) {
  const std::string filler(CagedCommand::kOutputTail, 'x');
  EXPECT_EQ(only(kOff, "EAI_AGAIN" + filler), "");
  EXPECT_NE(only(kOff, filler + "EAI_AGAIN"), "");
}

}  // namespace
}  // namespace agentd::cage
