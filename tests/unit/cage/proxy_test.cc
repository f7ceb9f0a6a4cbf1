// SPDX-License-Identifier: Apache-2.0
// proxy_test.cc - the proxy and the relay where descriptors are short: connections wait, and nothing spins.
#include "core/cage/proxy.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "core/cage/connection_share.h"
#include "core/cage/relay.h"

namespace agentd::cage {
namespace {

constexpr int kLongMs = 20'000, kShortMs = 500;

// Lowers the limit and takes every descriptor below it.
class Shortage {
 public:
  Shortage() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = 128;
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (int fd = ::dup(STDIN_FILENO); fd >= 0; fd = ::dup(STDIN_FILENO)) taken_.emplace_back(fd);
  }
  ~Shortage() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  std::size_t taken() const { return taken_.size(); }

 private:
  rlimit before_{};
  std::vector<UniqueFd> taken_;
};

UniqueFd new_client() { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

bool ask(int client, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
  constexpr std::string_view kRequest = "CONNECT other.invalid:443 HTTP/1.1\r\n\r\n";
  return ::send(client, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(kRequest.size());
}

// The beginning of the answer; empty: none came in that time.
std::string answer(int client, int milliseconds) {
  pollfd list{client, POLLIN, 0};
  if (::poll(&list, 1, milliseconds) != 1) return {};
  char text[12] = {};
  return {text, static_cast<std::size_t>(std::max<ssize_t>(::recv(client, text, sizeof text, 0), 0))};
}

std::unique_ptr<Proxy> new_proxy() {
  auto rules = NetworkRules::parse({"example.org"});
  auto out = Proxy::start(*rules);
  EXPECT_TRUE(out) << out.error().message;
  return out ? std::move(*out) : nullptr;
}

double processor_ms() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto ms = [](const timeval& at) {
    return static_cast<double>(at.tv_sec) * 1e3 + static_cast<double>(at.tv_usec) / 1e3;
  };
  return ms(use.ru_utime) + ms(use.ru_stime);
}

TEST(Proxy, LetsConnectionsWaitWhileDescriptorsAreShort) {
#if defined(AGENTD_SANITIZED_BUILD)
  GTEST_SKIP() << "the sanitizer of undefined behaviour opens a pipe for each check of an object";
#endif
  const auto proxy = new_proxy();
  ASSERT_TRUE(proxy);
  const UniqueFd client = new_client();
  {
    const Shortage shortage;
    ASSERT_GT(shortage.taken(), 10u);
    ASSERT_TRUE(ask(client.get(), proxy->socket()));
    const double before = processor_ms();
    EXPECT_EQ(answer(client.get(), kShortMs), "") << "none is left for it";
    // A loop would take all of the processor, or a large part of a busy one.
    EXPECT_LT(processor_ms() - before, kShortMs / 4.0);
  }
  EXPECT_EQ(answer(client.get(), kLongMs), "HTTP/1.1 403");
}

TEST(Proxy, LetsConnectionsBeyondItsMostWait) {
  const auto proxy = new_proxy();
  ASSERT_TRUE(proxy);
  std::vector<UniqueFd> idle;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, proxy->socket().data(), proxy->socket().size());
  for (std::size_t i = 0; i < std::min(Proxy::kConnectionsMax, connections_max()); ++i) {
    idle.push_back(new_client());
    ASSERT_EQ(::connect(idle.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  const UniqueFd client = new_client();
  ASSERT_TRUE(ask(client.get(), proxy->socket()));
  EXPECT_EQ(answer(client.get(), kShortMs), "");
  const auto other = new_proxy();
  const UniqueFd another = new_client();
  ASSERT_TRUE(ask(another.get(), other->socket()));
  EXPECT_EQ(answer(another.get(), kLongMs), "HTTP/1.1 403") << "another command has its own";
  idle.pop_back();
  EXPECT_EQ(answer(client.get(), kLongMs), "HTTP/1.1 403");
}

TEST(ConnectionShare, IsBoundedByTheLimitOfDescriptorsButForTheFirst) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto with = [&](rlim_t most) {
    rlimit now = before;
    now.rlim_cur = std::min(most, before.rlim_max);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
    return connections_max();
  };
  EXPECT_EQ(with(256), 32u);
  EXPECT_EQ(with(40), kConnectionsLeast);
  // Connections of other tests may still be ending.
  const auto take_all = [] {
    std::size_t taken = 0;
    while (taken < 1'000 && take_connection(false)) ++taken;
    return taken;
  };
  const auto give = [](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) give_connection();
  };
  std::size_t taken = take_all();
  for (int round = 0; round < 2'000 && taken < kConnectionsLeast; ++round) {
    give(taken);
    ::poll(nullptr, 0, 10);
    taken = take_all();
  }
  EXPECT_EQ(taken, kConnectionsLeast);
  EXPECT_TRUE(take_connection(true)) << "the first of a proxy";
  EXPECT_FALSE(take_connection(false));
  give(taken + 1);
  EXPECT_TRUE(take_connection(false));
  give(1);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

// One round of the keeper. True if something was ready.
bool serve(Relay& relay, int milliseconds) {
  std::vector<pollfd> list;
  relay.wait_for(list);
  const bool ready = ::poll(list.data(), list.size(), milliseconds) > 0;
  relay.serve(list.data());
  return ready;
}

TEST(Relay, PausesWhileDescriptorsAreShort) {
  const auto proxy = new_proxy();
  ASSERT_TRUE(proxy);
  auto relay = Relay::listen(proxy->socket());
  ASSERT_TRUE(relay) << relay.error().message;
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(relay->port());
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_FALSE(relay->pauses());
  {
    const Shortage shortage;
    EXPECT_TRUE(serve(*relay, kLongMs));
    EXPECT_TRUE(relay->pauses());
    EXPECT_FALSE(serve(*relay, 0)) << "a client that waits does not wake it";
    EXPECT_FALSE(relay->pauses()) << "it tries again";
  }
  EXPECT_TRUE(serve(*relay, kLongMs));
  EXPECT_FALSE(relay->pauses());
  constexpr std::string_view kRequest = "CONNECT other.invalid:443 HTTP/1.1\r\n\r\n";
  ASSERT_EQ(::send(client.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(kRequest.size()));
  std::string got;
  for (int round = 0; got.empty() && round < 100; ++round) {
    (void)serve(*relay, 200);
    got = answer(client.get(), 0);
  }
  EXPECT_EQ(got, "HTTP/1.1 403");
}

}  // namespace
}  // namespace agentd::cage
