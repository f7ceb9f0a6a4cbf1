// SPDX-License-Identifier: Apache-2.0
// Where it listens: on this machine alone, and for this user alone.
#include "core/serve/listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "core/serve/port_owner.h"
#include "tests/support/required.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/serve/client.h"

namespace agentd::serve {
namespace {

using agentd::testing::TempDir;
using testing::Client;
using testing::get;
using testing::Served;

HttpServerOptions at(const std::string& socket) {
  HttpServerOptions options;
  options.socket = socket;
  return options;
}

// What a server that cannot listen says.
Error refusal(HttpServerOptions options) {
  const SystemClock clock;
  NullLog log;
  const auto started = HttpServer::start(
      std::move(options), [](const RequestHead&) { return std::nullopt; }, [](const std::shared_ptr<HttpExchange>&) {},
      clock, log);
  return started ? Error{Code::kInternal, "it started"} : started.error();
}

bool has(const Error& error, std::string_view text) { return error.message.find(text) != std::string::npos; }

bool exists(const std::string& path) {
  return std::filesystem::symlink_status(path).type() != std::filesystem::file_type::not_found;
}

// ---- addresses

TEST(Listener, ListensOnLoopbackAlone) {
  for (const char* const good : {"127.0.0.1", "127.1.2.3"}) EXPECT_TRUE(listen_on(good, 0)) << good;
  for (const char* const bad :
       {"0.0.0.0", "::", "10.0.0.1", "192.168.1.1", "128.0.0.1", "8.8.8.8", "::ffff:127.0.0.1", "::2", "fe80::1",
        "localhost", "127.1", "0177.0.0.1", "2130706433", "", "*", "127.0.0.1 "}) {
    const auto refused = listen_on(bad, 0);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Code::kDenied) << bad;
    EXPECT_TRUE(has(refused.error(), "only addresses of this machine")) << refused.error().message;
  }
}

TEST(Listener, ListensOnIpv6WhereTheMachineHasIt) {
  auto listener = listen_on("::1", 0);
  if (!listener) {
    EXPECT_EQ(listener.error().code, Code::kUnavailable);
    GTEST_SKIP() << "this machine has no IPv6";
  }
  HttpServerOptions options;
  options.places.push_back({"::1", 0});
  const Served served(std::move(options));
  Client client = Client::tcp(served.port, "::1");
  ASSERT_TRUE(client.send(get("/")));
  EXPECT_EQ(client.read().status, 200u);
  EXPECT_FALSE(Client::tcp(served.port, "127.0.0.1").connected());
}

TEST(Listener, TellsWhoHasThePort) {
  const Served served;
  HttpServerOptions options;
  options.places.push_back({"127.0.0.1", served.port});
  const Error error = refusal(std::move(options));
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_TRUE(has(error, "port " + std::to_string(served.port) + " is taken by ")) << error.message;
  EXPECT_TRUE(has(error, "(process " + std::to_string(::getpid()) + ")")) << error.message;
  EXPECT_EQ(port_owner(0), "");
}

TEST(Listener, TakesAPortAgainAtOnce) {
  std::uint16_t port = 0;
  {
    const Served served;
    port = served.port;
    Client client = served.client();
    ASSERT_TRUE(client.send(get("/")));
    EXPECT_EQ(client.read().status, 200u);
  }
  EXPECT_TRUE(listen_on("127.0.0.1", port));
}

// ---- inherited descriptors

TEST(Listener, AdoptsADescriptorThatListens) {
  auto listener = listen_on("127.0.0.1", 0);
  ASSERT_TRUE(listener);
  const std::uint16_t port = listener->port;
  HttpServerOptions options;
  options.inherited.push_back(std::move(listener->fd));
  const Served served(std::move(options));
  Client client = Client::tcp(port);
  ASSERT_TRUE(client.send(get("/")));
  EXPECT_EQ(client.read().status, 200u);
}

TEST(Listener, AdoptsNothingElse) {
  UniqueFd idle(::socket(AF_INET, SOCK_STREAM, 0)), datagrams(::socket(AF_INET, SOCK_DGRAM, 0));
  UniqueFd file(::open("/dev/null", O_RDWR)), wide(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(::listen(wide.get(), 1), 0);  // on any address
  for (UniqueFd* const each : {&idle, &datagrams, &file})
    EXPECT_EQ(adopt(std::move(*each)).error().code, Code::kInvalid);
  EXPECT_EQ(adopt(UniqueFd()).error().code, Code::kInvalid);
  EXPECT_EQ(adopt(std::move(wide)).error().code, Code::kDenied);
}

// ---- the unix socket

TEST(UnixSocket, KnowsItsPeer) {
  const TempDir dir;
  RequestHead head;
  const auto gate = [&](const RequestHead& asked) -> std::optional<HttpReply> {
    head = asked;
    return std::nullopt;
  };
  const Served served(at(dir.file("s")), {}, gate);
  ASSERT_TRUE(served.server);
  Client client = Client::local(dir.file("s"));
  ASSERT_TRUE(client.send(get("/")));
  EXPECT_EQ(client.read().status, 200u);
  EXPECT_EQ(head.peer.door, HttpPeer::Door::kUnix);
  EXPECT_EQ(head.peer.uid, ::geteuid());
  EXPECT_EQ(head.peer.pid, ::getpid());
  EXPECT_EQ(head.peer.address, "");
  EXPECT_EQ(head.port, 0);
}

TEST(UnixSocket, IsOpenToItsUserAloneAndGoneAtTheEnd) {
  const TempDir dir;
  {
    const Served served(at(dir.file("s")));
    struct stat found {};
    ASSERT_EQ(::lstat(dir.file("s").c_str(), &found), 0);
    EXPECT_TRUE(S_ISSOCK(found.st_mode));
    EXPECT_EQ(found.st_mode & 0777, 0600u);
  }
  EXPECT_FALSE(exists(dir.file("s")));
}

TEST(UnixSocket, IsGoneWhenTheServerIsDrained) {
  const TempDir dir;
  const Served served(at(dir.file("s")));
  EXPECT_TRUE(served.server->drain({}));
  EXPECT_FALSE(exists(dir.file("s")));
  EXPECT_TRUE(listen_at(dir.file("s")));
}

TEST(UnixSocket, LeavesAFileThatIsNotItsOwn) {
  const TempDir dir;
  {
    const Served served(at(dir.file("s")));
    std::filesystem::rename(dir.file("s"), dir.file("moved"));
    dir.write("s", "another's");
  }
  EXPECT_EQ(dir.read("s"), "another's");
}

TEST(UnixSocket, ReplacesAStaleOneAndNoLiveOne) {
  const TempDir dir;
  {
    auto stale = listen_at(dir.file("s"));
    ASSERT_TRUE(stale);
    std::filesystem::rename(dir.file("s"), dir.file("kept"));
  }
  std::filesystem::rename(dir.file("kept"), dir.file("s"));  // as after kill -9
  const Served served(at(dir.file("s")));
  ASSERT_TRUE(served.server);
  const Error second = refusal(at(dir.file("s")));
  EXPECT_EQ(second.code, Code::kUnavailable);
  EXPECT_TRUE(has(second, "another agentd serves at " + dir.file("s"))) << second.message;
  Client client = Client::local(dir.file("s"));
  ASSERT_TRUE(client.send(get("/")));
  EXPECT_EQ(client.read().status, 200u);
}

TEST(UnixSocket, ReplacesNoOtherFile) {
  const TempDir dir;
  dir.write("file", "text");
  std::filesystem::create_symlink(dir.file("nowhere"), dir.file("link"));
  for (const char* const name : {"file", "link"}) {
    const Error error = refusal(at(dir.file(name)));
    EXPECT_EQ(error.code, Code::kDenied) << error.message;
    EXPECT_TRUE(exists(dir.file(name)));
  }
  EXPECT_EQ(dir.read("file"), "text");
  EXPECT_FALSE(exists(dir.file("nowhere")));
}

TEST(UnixSocket, WantsADirectoryOfItsOwn) {
  const TempDir dir;
  const std::string inner = dir.file("d");
  ASSERT_EQ(::mkdir(inner.c_str(), 0700), 0);
  for (const mode_t open : {0720u, 0702u, 01777u}) {
    ASSERT_EQ(::chmod(inner.c_str(), open), 0);
    const Error error = refusal(at(inner + "/s"));
    EXPECT_EQ(error.code, Code::kDenied);
    EXPECT_TRUE(has(error, inner + " can be written by others")) << error.message;
    EXPECT_FALSE(exists(inner + "/s"));
  }
  ASSERT_EQ(::chmod(inner.c_str(), 0755), 0);
  EXPECT_TRUE(listen_at(inner + "/s"));
  std::filesystem::create_directory_symlink(inner, dir.file("link"));
  EXPECT_EQ(refusal(at(dir.file("link") + "/s")).code, Code::kDenied);
  EXPECT_EQ(refusal(at(dir.file("absent") + "/s")).code, Code::kNotFound);
}

TEST(UnixSocket, SaysThatItsPathIsTooLong) {
  const TempDir dir;
  const std::size_t most = kSocketPathMax - dir.path().size() - 1;
  EXPECT_TRUE(listen_at(dir.file(std::string(most, 's'))));
  const Error error = refusal(at(dir.file(std::string(most + 1, 's'))));
  EXPECT_EQ(error.code, Code::kInvalid);
  EXPECT_TRUE(has(error, "107")) << error.message;
}

TEST(UnixSocket, RefusesAnotherUser) {
  if (::geteuid() != 0) AGENTD_TEST_NEEDS_MORE("only root can become another user");
  const TempDir dir;
  const Served served(at(dir.file("s")));
  // The modes would refuse him first.
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(dir.file("s").c_str(), 0666), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65'534) != 0 || ::setuid(65'534) != 0) ::_exit(2);
    Client client = Client::local(dir.file("s"));
    if (!client.connected()) ::_exit(3);
    (void)client.send(get("/"));
    ::_exit(client.ended() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(served.server->figures().refused, 1u);
  EXPECT_EQ(served.server->figures().requests, 0u);
  Client client = Client::local(dir.file("s"));
  ASSERT_TRUE(client.send(get("/")));
  EXPECT_EQ(client.read().status, 200u);
}

// ---- without descriptors

TEST(Listener, AcceptsAgainWhenThereAreDescriptors) {
  const Served served;
  Client waiting = served.client();
  ASSERT_TRUE(waiting.send(get("/")));
  ASSERT_EQ(waiting.read().status, 200u);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  // Enough for the client's end of the connection alone.
  UniqueFd next(::dup(0));
  few.rlim_cur = static_cast<rlim_t>(next.get()) + 1;
  next.reset();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  Client client = served.client();
  const bool sent = client.send(get("/"));
  // The idle connection gives up its descriptor for it.
  const unsigned status = sent ? client.read().status : 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(status, 200u);
  EXPECT_TRUE(waiting.ended());
}

}  // namespace
}  // namespace agentd::serve
