// SPDX-License-Identifier: Apache-2.0
#include "core/net/curl_client.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "core/codec/url.h"
#include "core/net/curl_library.h"
#include "tests/support/loopback_server.h"

namespace agentd {
namespace {

using testing::LoopbackServer;
using testing::RecordedRequest;
using testing::Reply;

class HttpTest : public ::testing::Test {
 protected:
  SystemClock clock_;
  std::unique_ptr<HttpClient> client_ = make_http_client(clock_);
  CancelToken cancel_;
  std::string body_;

  Result<HttpResponse> send(HttpRequest request, Deadline deadline = {}) {
    return client_->send(
        request,
        [this](const HttpResponse&, std::string_view bytes) {
          body_ += bytes;
          return true;
        },
        cancel_, deadline);
  }
  Result<HttpResponse> post(const std::string& url, std::string_view body = "hello") {
    HttpRequest request;
    request.url = url;
    request.body = body;
    return send(request);
  }
};

TEST_F(HttpTest, ConnectsToNoAddressThatTheRequestRefuses) {
  LoopbackServer server([](const RecordedRequest&) { return Reply::http(200, {}, "answer"); });
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  HttpRequest request;
  request.method = "GET";
  request.url = "http://localhost:" + std::to_string(server.port()) + "/";
  std::atomic<int> asked{0};
  request.may_connect = [&](const sockaddr&) { return ++asked, false; };
  const auto refused = send(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDenied) << refused.error().message;
  EXPECT_GT(asked.load(), 0);
  EXPECT_EQ(server.connections(), 0u);
  // Each connection is its own, and the one that was asked about.
  asked = 0;
  request.may_connect = [&](const sockaddr& address) { return ++asked, address.sa_family == AF_INET; };
  for (int i = 0; i < 2; ++i) {
    const auto allowed = send(request);
    ASSERT_TRUE(allowed) << allowed.error().message;
  }
  ::unsetenv("http_proxy");
  EXPECT_GE(asked.load(), 2);
  EXPECT_EQ(server.connections(), 2u);
  EXPECT_EQ(body_, "answeranswer");
}

TEST_F(HttpTest, SendsTheRequestAndGivesStatusHeadersAndBody) {
  LoopbackServer server({Reply::http(201, {{"X-Thing", " value "}}, "answer")});
  HttpRequest request;
  request.url = server.url() + "/path?q=1";
  request.headers = {{"x-api-key", "secret"}, {"x-empty", ""}};
  request.body = "question";
  const auto response = send(request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->header("x-thing"), "value");
  EXPECT_EQ(body_, "answer");
  const RecordedRequest got = server.requests().at(0);
  EXPECT_EQ(got.method, "POST");
  EXPECT_EQ(got.target, "/path?q=1");
  EXPECT_EQ(got.body, "question");
  EXPECT_EQ(got.header("x-api-key"), "secret");
  EXPECT_EQ(got.header("expect"), "");
}

TEST_F(HttpTest, SendsALargeBodyWithoutWaitingForLeave) {
  LoopbackServer server({Reply::http(200, {}, "ok")});
  const std::string large(3u << 20, 'x');
  ASSERT_TRUE(post(server.url(), large));
  EXPECT_EQ(server.requests().at(0).body.size(), large.size());
}

TEST_F(HttpTest, ReusesTheConnection) {
  LoopbackServer server({Reply::http(200, {}, "1"), Reply::http(200, {}, "2"), Reply::http(200, {}, "3")});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(post(server.url()));
  EXPECT_EQ(body_, "123");
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(HttpTest, RepeatsOnAConnectionThatWentStale) {
  // The server closes after its first answer although it promised to keep the connection.
  LoopbackServer server([](const RecordedRequest&) {
    Reply reply = Reply::http(200, {}, "x");
    reply.keep_alive = false;
    return reply;
  });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(post(server.url()));
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(HttpTest, ServesSeveralThreadsAtOnce) {
  LoopbackServer server([](const RecordedRequest& request) { return Reply::http(200, {}, request.body); });
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string mine = std::to_string(t * 100 + i);
        std::string got;
        HttpRequest request;
        request.url = server.url();
        request.body = mine;
        const auto sent = client_->send(request,
                                        [&](const HttpResponse&, std::string_view bytes) {
                                          got += bytes;
                                          return true;
                                        },
                                        {}, {});
        if (sent && got == mine) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right.load(), 160);
}

TEST_F(HttpTest, DoesNotFollowARedirect) {
  LoopbackServer target([](const RecordedRequest&) { return Reply::http(200, {}, "stolen"); });
  LoopbackServer server({Reply::http(307, {{"location", target.url() + "/x"}}, "")});
  const auto response = post(server.url());
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 307);
  EXPECT_TRUE(target.requests().empty());
  EXPECT_EQ(target.connections(), 0u);
}

TEST_F(HttpTest, ReportsAClosedPort) {
  std::string url;
  { url = LoopbackServer(std::deque<Reply>{}).url(); }
  const auto response = post(url);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kUnavailable);
  EXPECT_NE(response.error().message.find("no connection to 127.0.0.1:"), std::string::npos)
      << response.error().message;
  EXPECT_NE(response.error().message.find("start the server there, or correct the address"), std::string::npos)
      << response.error().message;
}

TEST_F(HttpTest, SaysThatTheNameIsUnknown) {
  const auto response = post("http://no-such-host.invalid/");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kUnavailable);
  EXPECT_NE(response.error().message.find("no-such-host.invalid"), std::string::npos);
}

TEST_F(HttpTest, TellsAConnectionLostBeforeTheHeadersFromOneLostAfter) {
  LoopbackServer server({Reply().send("HTTP/1.1 20"), Reply().reset(),
                         Reply().send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n123"),
                         Reply::chunked({"123"}, false)});
  EXPECT_EQ(post(server.url()).error().code, Code::kUnavailable);
  EXPECT_EQ(post(server.url()).error().code, Code::kUnavailable);
  EXPECT_EQ(post(server.url()).error().code, Code::kCorrupt);
  EXPECT_EQ(post(server.url()).error().code, Code::kCorrupt);
  EXPECT_EQ(body_, "123123");
}

TEST_F(HttpTest, StopsWhenCancelledBeforeAndDuringTheAnswer) {
  LoopbackServer server({Reply().stall(), Reply::chunked({"begun"}, false).stall()});
  for (int i = 0; i < 2; ++i) {
    CancelToken cancel;
    std::thread later([&cancel] {
      std::this_thread::sleep_for(Milliseconds(30));
      cancel.cancel(1);
    });
    HttpRequest request;
    request.url = server.url();
    const auto response = client_->send(request, {}, cancel, {});
    later.join();
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::kCancelled);
  }
}

TEST_F(HttpTest, IsNotSentWhenCancelledFromTheStart) {
  LoopbackServer server({Reply::http(200, {}, "x")});
  cancel_.cancel(1);
  EXPECT_EQ(post(server.url()).error().code, Code::kCancelled);
  EXPECT_EQ(server.connections(), 0u);
}

TEST_F(HttpTest, EndsAtItsDeadline) {
  LoopbackServer server({Reply().stall()});
  HttpRequest request;
  request.url = server.url();
  const auto response = send(request, Deadline::after(clock_, Milliseconds(60)));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kUnavailable);
  EXPECT_NE(response.error().message.find("within the time allowed"), std::string::npos);
}

TEST_F(HttpTest, GivesUpOnAServerThatFallsSilent) {
  LoopbackServer server({Reply().stall(), Reply::chunked({"begun"}, false).stall()});
  HttpRequest request;
  request.url = server.url();
  request.idle_timeout = Milliseconds(60);
  const auto before = send(request);
  ASSERT_FALSE(before);
  EXPECT_EQ(before.error().code, Code::kUnavailable);
  EXPECT_NE(before.error().message.find("has sent nothing for 60 ms"), std::string::npos);
  EXPECT_EQ(send(request).error().code, Code::kCorrupt);
}

TEST_F(HttpTest, EndsWhenTheReaderHasEnough) {
  LoopbackServer server({Reply::chunked({"one", "two"})});
  HttpRequest request;
  request.url = server.url();
  const auto response = client_->send(request, [](const HttpResponse&, std::string_view) { return false; }, {}, {});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kCancelled);
}

TEST_F(HttpTest, CapsTheBody) {
  LoopbackServer server([](const RecordedRequest&) { return Reply::http(200, {}, std::string(100'000, 'x')); });
  HttpRequest request;
  request.url = server.url();
  request.body_bytes_max = 50'000;
  const auto response = send(request);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kCorrupt);
  EXPECT_NE(response.error().message.find("more than 50000 bytes"), std::string::npos);
  EXPECT_LE(body_.size(), 50'000u);
  request.body_bytes_max = 100'000;
  EXPECT_TRUE(send(request));
}

TEST_F(HttpTest, CapsTheHeaders) {
  testing::Headers many, wide;
  for (int i = 0; i < 600; ++i) many.emplace_back("h" + std::to_string(i), "x");
  for (int i = 0; i < 10; ++i) wide.emplace_back("h" + std::to_string(i), std::string(40'000, 'x'));
  LoopbackServer server({Reply::http(200, many, ""), Reply::http(200, wide, "")});
  for (int i = 0; i < 2; ++i) {
    const auto response = post(server.url());
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::kCorrupt) << response.error().message;
  }
}

TEST_F(HttpTest, EndsHeadersWithoutEnd) {
  LoopbackServer server({Reply().send("HTTP/1.1 200 OK\r\n").repeat("x: y\r\n"),
                         Reply().repeat("HTTP/1.1 103 Early\r\nx: y\r\n\r\n"),
                         Reply().send("HTTP/1.1 200 OK\r\nx: ").repeat(std::string(1000, 'y'))});
  for (int i = 0; i < 3; ++i) {
    const auto response = post(server.url());
    ASSERT_FALSE(response);
    EXPECT_LT(server.bytes_sent(), 32u << 20);
  }
}

// gzip of 1,000,000 zero bytes: 1,003 bytes, almost all of them zero.
std::string gzip_bomb() {
  const unsigned char head[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x01,
                                0x01, 0x00, 0x00, 0x00, 0x82, 0x20, 0xff, 0xaf, 0x6e, 0x48, 0x40, 0x01};
  const unsigned char tail[] = {0xaf, 0x06, 0x9e, 0xcb, 0x79, 0x12, 0x40, 0x42, 0x0f, 0x00};
  return std::string(reinterpret_cast<const char*>(head), sizeof head) + std::string(968, '\0') +
         std::string(reinterpret_cast<const char*>(tail), sizeof tail);
}

TEST_F(HttpTest, AsksForNoCompressionAndRefusesWhatIsCompressedAllTheSame) {
  const auto body_in = [](int status, const char* header) {
    return Reply::http(status, {{header, "gzip"}}, gzip_bomb());
  };
  LoopbackServer server({body_in(200, "content-encoding"), body_in(200, "transfer-encoding"),
                         Reply::http(200, {{"transfer-encoding", "chunked"}, {"transfer-encoding", "gzip"}}, ""),
                         body_in(429, "content-encoding"),
                         Reply::http(200, {{"content-encoding", "identity"}}, "plain")});
  for (int i = 0; i < 3; ++i) {
    const auto refused = post(server.url());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalid) << refused.error().message;
    EXPECT_NE(refused.error().message.find("sends its answer encoded as gzip, which was not requested"),
              std::string::npos)
        << refused.error().message;
  }
  // The status of a refusal is enough without its body.
  const auto busy = post(server.url());
  ASSERT_TRUE(busy) << busy.error().message;
  EXPECT_EQ(busy->status, 429);
  EXPECT_EQ(body_, "");
  ASSERT_TRUE(post(server.url()));
  EXPECT_EQ(body_, "plain");
  EXPECT_EQ(server.requests().at(0).header("accept-encoding"), "identity");
}

TEST_F(HttpTest, RefusesAHeaderThatWouldBecomeTwo) {
  LoopbackServer server({Reply::http(200, {}, "x")});
  for (const std::string& value : {std::string("a\r\nx-evil: 1"), std::string("a\n"), std::string("a\0b", 3)}) {
    HttpRequest request;
    request.url = server.url();
    request.headers = {{"x-api-key", value}};
    const auto response = send(request);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::kInvalid);
    EXPECT_EQ(response.error().message.find(value), std::string::npos);
  }
  EXPECT_EQ(server.connections(), 0u);
}

TEST_F(HttpTest, RefusesInvalidUrls) {
  for (const char* url : {"", "localhost:80", "file:///etc/passwd", "ftp://x/", "http://", "http://a b/",
                          "http://host:port/", "http://h\nx/", "gopher://127.0.0.1/"}) {
    const auto response = post(url);
    ASSERT_FALSE(response) << url;
    EXPECT_EQ(response.error().code, Code::kInvalid) << url;
  }
}

TEST_F(HttpTest, SkipsInterimAnswers) {
  LoopbackServer server(
      {Reply().send("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
                    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nlast: yes\r\n\r\nok")});
  const auto response = post(server.url());
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->header("link"), "");
  EXPECT_EQ(response->header("last"), "yes");
}

TEST_F(HttpTest, GoesPastTheProxyOfTheEnvironmentOnLoopback) {
  LoopbackServer proxy({Reply::http(200, {}, "proxy")});
  LoopbackServer server({Reply::http(200, {}, "direct")});
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  ::unsetenv("no_proxy");
  const auto direct = post(server.url());
  const auto proxied = post("http://example.invalid/");
  ::unsetenv("http_proxy");
  ASSERT_TRUE(direct);
  ASSERT_TRUE(proxied) << proxied.error().message;
  EXPECT_EQ(body_, "directproxy");
}

TEST_F(HttpTest, ARequestOnlyByProxyGoesNowhereElse) {
  LoopbackServer proxy({Reply::http(200, {}, "proxy"), Reply::http(200, {}, "proxy")});
  LoopbackServer server({Reply::http(200, {}, "direct")});
  ::setenv("no_proxy", "example.invalid", 1);
  HttpSettings settings;
  settings.proxy = proxy.url();
  const auto client = make_http_client(clock_, settings);
  std::string body;
  const auto take = [&](const HttpResponse&, std::string_view bytes) {
    body += bytes;
    return true;
  };
  for (const std::string& url : {std::string("http://example.invalid/"), server.url()}) {
    HttpRequest request;
    request.url = url;
    request.only_by_proxy = true;
    EXPECT_TRUE(client->send(request, take, CancelToken(), {})) << url;
  }
  ::unsetenv("no_proxy");
  EXPECT_EQ(body, "proxyproxy");
  EXPECT_EQ(server.connections(), 0u);
  HttpRequest alone;
  alone.url = server.url();
  alone.only_by_proxy = true;
  EXPECT_EQ(make_http_client(clock_)->send(alone, take, CancelToken(), {}).error().code, Code::kInvalid);
}

// ---- one thread for all requests

// Of the clients of this process.
int net_threads() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "agentd-net") ++count;
  }
  return count;
}

TEST_F(HttpTest, HasOneThreadFromItsFirstRequestToItsEnd) {
  EXPECT_EQ(net_threads(), 0);
  constexpr std::size_t kStreams = 100;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t begun = 0;
  LoopbackServer server([](const RecordedRequest&) { return Reply::chunked({"begun"}, false).stall(); });
  std::vector<std::thread> threads;
  std::vector<Code> ends(kStreams, Code::kInvalid);
  for (std::size_t i = 0; i < kStreams; ++i)
    threads.emplace_back([&, i] {
      HttpRequest request;
      request.url = server.url();
      const auto sent = client_->send(request,
                                      [&](const HttpResponse&, std::string_view) {
                                        const std::lock_guard lock(mutex);
                                        ++begun;
                                        changed.notify_one();
                                        return true;
                                      },
                                      {}, {});
      if (!sent) ends[i] = sent.error().code;
    });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return begun == kStreams; });
  lock.unlock();
  EXPECT_EQ(net_threads(), 1);
  EXPECT_EQ(server.connections(), kStreams);
  client_.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ends, std::vector<Code>(kStreams, Code::kCancelled));
  EXPECT_EQ(net_threads(), 0);
}

TEST_F(HttpTest, ReusesAConnectionForWhicheverThreadComesNext) {
  LoopbackServer server([](const RecordedRequest&) { return Reply::chunked({"x"}); });
  for (int i = 0; i < 5; ++i) std::thread([&] { EXPECT_TRUE(post(server.url())); }).join();
  EXPECT_EQ(server.connections(), 1u);
}

// The kernel's buffers are full after some megabytes; the rest would be in this process.
TEST_F(HttpTest, HoldsTheServerBackWhileItsReaderReadsNothing) {
  constexpr std::size_t kPiece = 1 << 20, kPieces = 48;
  LoopbackServer server(
      {Reply::chunked(std::vector<std::string>(kPieces, std::string(kPiece, 'x'))), Reply::http(200, {}, "meanwhile")});
  HttpRequest request;
  request.url = server.url();
  request.idle_timeout = Milliseconds(100);  // the reader's time is not the server's
  std::uint64_t sent_when_held = 0;
  std::size_t got = 0, longest = 0;
  const auto response = client_->send(request,
                                      [&](const HttpResponse&, std::string_view bytes) {
                                        if (got == 0) {
                                          std::this_thread::sleep_for(Milliseconds(400));
                                          sent_when_held = server.bytes_sent();
                                          EXPECT_TRUE(post(server.url())) << "others go on";
                                        }
                                        got += bytes.size();
                                        longest = std::max(longest, bytes.size());
                                        return true;
                                      },
                                      {}, {});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(got, kPiece * kPieces);
  EXPECT_LT(sent_when_held, 24u << 20);
  EXPECT_LE(longest, 128u << 10);
  EXPECT_EQ(body_, "meanwhile");
}

TEST_F(HttpTest, CancelsAServerThatIsHeldBack) {
  LoopbackServer server({Reply::stream("").repeat(std::string(100'000, 'x'))});
  HttpRequest request;
  request.url = server.url();
  int calls = 0;
  const auto response = client_->send(request,
                                      [&](const HttpResponse&, std::string_view) {
                                        ++calls;
                                        std::this_thread::sleep_for(Milliseconds(100));
                                        cancel_.cancel(1);
                                        return true;
                                      },
                                      cancel_, {});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kCancelled);
  EXPECT_EQ(calls, 1);
}

// The server is never silent for long, and never ends.
TEST_F(HttpTest, EndsAnAnswerThatDripsAtItsDeadline) {
  ManualClock clock;
  const auto client = make_http_client(clock);
  LoopbackServer server({Reply::stream("").repeat("x")});
  HttpRequest request;
  request.url = server.url();
  request.idle_timeout = Milliseconds(10'000);
  const auto response = client->send(
      request,
      [&](const HttpResponse&, std::string_view) {
        clock.advance(Milliseconds(1'000));
        return true;
      },
      {}, Deadline::after(clock, Milliseconds(30'000)));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kUnavailable);
  EXPECT_NE(response.error().message.find("no complete answer from 127.0.0.1"), std::string::npos)
      << response.error().message;
}

TEST_F(HttpTest, WarmsUpBesideARequest) {
  LoopbackServer server({Reply::http(200, {}, "x")});
  client_->warm_up();
  client_->warm_up();
  EXPECT_TRUE(post(server.url()));
  // A client that is destroyed while it warms up waits for its thread.
  make_http_client(clock_)->warm_up();
}

// The handshake fails before any byte of the request leaves.
TEST_F(HttpTest, EndsSoonWhetherItHasBegunOrNot) {
  LoopbackServer server({Reply::http(200, {}, "x")});
  for (const bool begun : {false, true}) {
    client_ = make_http_client(clock_);
    if (begun) client_->warm_up();
    client_->end_soon();
    EXPECT_EQ(post(server.url()).error().code, Code::kCancelled);
  }
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpTest, SendsNothingToAServerThatSpeaksNoTls) {
  LoopbackServer server({Reply::http(200, {}, "x")});
  HttpRequest request;
  request.url = "https://127.0.0.1:" + std::to_string(server.port());
  request.headers = {{"x-api-key", "secret"}};
  request.connect_timeout = Milliseconds(300);
  const auto response = send(request);
  ASSERT_FALSE(response);
  EXPECT_TRUE(server.requests().empty());
}

TEST(CurlLibrary, NamesThePackageWhenItIsMissing) {
  const auto missing = CurlLibrary::load("libcurl-that-is-not-there.so.4");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kUnavailable);
  EXPECT_NE(missing.error().message.find("apt install libcurl4"), std::string::npos);
}

TEST(CurlLibrary, NamesTheFunctionThatALibraryLacks) {
  const auto other = CurlLibrary::load("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("it lacks curl_global_init"), std::string::npos) << other.error().message;
}

TEST(CurlLibrary, TellsItsVersion) {
  const auto version = http_library_version();
  ASSERT_TRUE(version);
  EXPECT_EQ(version->substr(0, 8), "libcurl/");
}

TEST(HttpUrl, FindsHostAndPort) {
  const auto url = parse_http_url("HTTPS://user:pw@Api.Example.COM:8443/v1?x=@");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->secure);
  EXPECT_EQ(url->place(), "api.example.com:8443");
  EXPECT_FALSE(url->loopback());
  EXPECT_EQ(parse_http_url("http://[::1]:80/")->place(), "[::1]:80");
}

TEST(HttpUrl, KnowsLoopback) {
  for (const char* url : {"http://127.0.0.1/", "http://127.9.9.9:1", "http://localhost", "http://[::1]/"})
    EXPECT_TRUE(parse_http_url(url)->loopback()) << url;
  for (const char* url : {"http://127.0.0.1.nip.io/", "http://localhost.evil.com", "http://10.0.0.1"})
    EXPECT_FALSE(parse_http_url(url)->loopback()) << url;
}

TEST(HttpUrl, ShowsNoPasswordInItsErrors) {
  const auto url = parse_http_url("ftp://user:hunter2@host/");
  ASSERT_FALSE(url);
  EXPECT_EQ(url.error().message.find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace agentd
