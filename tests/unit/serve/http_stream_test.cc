// SPDX-License-Identifier: Apache-2.0
// Answers that go on: in order, bounded, and never without an end.
#include <gtest/gtest.h>

#include "core/base/thread.h"
#include "tests/unit/serve/client.h"

namespace agentd::serve {
namespace {

using testing::Answer;
using testing::becomes;
using testing::Client;
using testing::Event;
using testing::get;
using testing::Served;

// A server whose every request gets a stream, which the test fills.
struct Streaming {
  explicit Streaming(HttpLimits limits = {}) {
    HttpServerOptions options;
    options.limits = limits;
    served = std::make_unique<Served>(std::move(options), [this](const std::shared_ptr<HttpExchange>& exchange) {
      HttpReply head;
      head.content_type = "text/event-stream";
      stream = exchange->stream(head, [this] { gone.set(); });
      begun.set();
    });
  }
  HttpServerFigures figures() const { return served->server->figures(); }

  Event begun, gone;
  std::shared_ptr<HttpStream> stream;
  std::unique_ptr<Served> served;  // ends first, so that nothing above is told of later
};

TEST(HttpStream, SendsInOrderAndEnds) {
  Streaming streaming;
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/")));
  ASSERT_TRUE(streaming.begun.wait());
  const Answer head = client.read_head();  // before there is anything to send
  EXPECT_EQ(head.status, 200u);
  EXPECT_TRUE(head.has("Content-Type: text/event-stream\r\n"));
  EXPECT_TRUE(head.has("Cache-Control: no-store\r\n"));
  ASSERT_TRUE(streaming.stream->send("first"));
  EXPECT_EQ(client.read_chunk(), "first");
  EXPECT_TRUE(streaming.stream->send(""));  // is no end
  std::string sent, got;
  for (int i = 0; i < 1'000; ++i) {
    const std::string part = std::to_string(i) + "\n";
    ASSERT_TRUE(streaming.stream->send(part));
    sent += part;
  }
  streaming.stream->close();
  EXPECT_FALSE(streaming.stream->send("after the end"));
  for (std::string part = client.read_chunk(); !part.empty(); part = client.read_chunk()) got += part;
  EXPECT_EQ(got, sent);
  EXPECT_TRUE(client.ended());
  client.close();
  EXPECT_TRUE(becomes([&] { return streaming.figures().connections == 0; }));
  EXPECT_EQ(streaming.gone.times(), 0);
  EXPECT_EQ(streaming.figures().streams, 0u);
  EXPECT_EQ(streaming.figures().streams_dropped, 0u);
}

TEST(HttpStream, EndsWhenNobodyHoldsIt) {
  Streaming streaming;
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/")));
  ASSERT_TRUE(streaming.begun.wait());
  ASSERT_TRUE(streaming.stream->send("last"));
  streaming.stream.reset();
  EXPECT_EQ(client.read().body, "last");
  EXPECT_TRUE(client.ended());
}

TEST(HttpStream, IsFilledByAnotherThreadWhileTheClientReads) {
  Streaming streaming;
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/")));
  ASSERT_TRUE(streaming.begun.wait());
  Thread fills([&] {
    for (int i = 0; i < 2'000; ++i)
      ASSERT_TRUE(streaming.stream->send(std::string(100, static_cast<char>('a' + i % 26))));
    streaming.stream->close();
  });
  const std::string body = client.read().body;
  fills.join();
  ASSERT_EQ(body.size(), 200'000u);
  for (std::size_t i = 0; i < body.size(); ++i) ASSERT_EQ(body[i], static_cast<char>('a' + i / 100 % 26)) << i;
}

// A sender of a file holds one piece of it.
TEST(HttpStream, TellsWhenTheClientHasTakenAll) {
  HttpLimits limits;
  limits.stream_bytes = 100;
  Streaming streaming(limits);
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/")));
  ASSERT_TRUE(streaming.begun.wait());
  Event at_once, later;
  streaming.stream->when_taken([&] { at_once.set(); });
  EXPECT_EQ(at_once.times(), 1);
  const std::string piece(16u << 20, 'x');  // more than the buffers of the two ends
  ASSERT_TRUE(streaming.stream->send(piece));
  streaming.stream->when_taken([&] { later.set(); });
  EXPECT_EQ(later.times(), 0);
  EXPECT_EQ(client.read_head().status, 200u);
  EXPECT_EQ(later.times(), 0);
  EXPECT_EQ(client.read_chunk().size(), piece.size());
  EXPECT_TRUE(later.wait());
  ASSERT_TRUE(streaming.stream->send(piece));  // an empty queue takes any number
  EXPECT_EQ(client.read_chunk().size(), piece.size());
  streaming.stream->close();
  EXPECT_EQ(client.read_chunk(), "");
  EXPECT_EQ(later.times(), 1);
  EXPECT_EQ(streaming.figures().streams_dropped, 0u);
}

TEST(HttpStream, TellsWhoWaitsForAClientThatGoes) {
  Streaming streaming;
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/")));
  ASSERT_TRUE(streaming.begun.wait());
  Event told;
  ASSERT_TRUE(streaming.stream->send(std::string(16u << 20, 'x')));
  streaming.stream->when_taken([&] { told.set(); });
  EXPECT_EQ(client.read_head().status, 200u);
  EXPECT_EQ(told.times(), 0);
  client.close();
  EXPECT_TRUE(told.wait());
  EXPECT_FALSE(streaming.stream->send("more"));
  EXPECT_EQ(told.times(), 1);
}

TEST(HttpStream, NoticesThatTheClientHasGone) {
  Streaming streaming;
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/")));
  ASSERT_TRUE(streaming.begun.wait());
  EXPECT_EQ(client.read_head().status, 200u);
  EXPECT_TRUE(becomes([&] { return streaming.figures().streams == 1; }));
  client.close();
  EXPECT_TRUE(streaming.gone.wait());  // though nothing is sent
  EXPECT_FALSE(streaming.stream->send("more"));
  streaming.stream->close();
  EXPECT_TRUE(becomes([&] { return streaming.figures().connections == 0; }));
  EXPECT_EQ(streaming.gone.times(), 1);
  EXPECT_EQ(streaming.figures().streams, 0u);
}

TEST(HttpStream, IgnoresWhatTheClientSendsBehindIt) {
  Streaming streaming;
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/") + get("/behind") + std::string(200'000, 'x')));
  ASSERT_TRUE(streaming.begun.wait());
  ASSERT_TRUE(streaming.stream->send("a"));
  streaming.stream->close();
  EXPECT_EQ(client.read().body, "a");
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(streaming.figures().requests, 1u);
}

TEST(HttpStream, DropsAClientThatDoesNotReadAtTheBound) {
  HttpLimits limits;
  limits.stream_bytes = 256u << 10;
  Streaming streaming(limits);
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/")));
  ASSERT_TRUE(streaming.begun.wait());
  // The system's own buffers are filled first, then the queue.
  std::size_t sent = 0;
  constexpr std::size_t kPart = 32u << 10, kMost = 256u << 20;
  while (sent < kMost && streaming.stream->send(std::string(kPart, 'x'))) sent += kPart;
  EXPECT_LT(sent, kMost);
  EXPECT_GE(sent, limits.stream_bytes);
  EXPECT_TRUE(streaming.gone.wait());
  EXPECT_TRUE(becomes([&] { return streaming.figures().connections == 0; }));
  EXPECT_FALSE(streaming.stream->send("x"));
  EXPECT_EQ(streaming.gone.times(), 1);
  EXPECT_EQ(streaming.figures().streams_dropped, 1u);
  EXPECT_EQ(streaming.figures().streams, 0u);
}

// Each keeps its own bound, and all of them together the whole one: who has read least goes first.
TEST(HttpStream, AllStreamsHaveABoundTogether) {
  constexpr std::size_t kPart = 64u << 10;
  HttpServerOptions options;
  options.limits.stream_bytes = 64u << 20;
  options.limits.streams_bytes = 4u << 20;
  Mutex mutex;
  std::vector<std::shared_ptr<HttpStream>> streams;
  Event begun;
  Served served(std::move(options), [&](const std::shared_ptr<HttpExchange>& exchange) {
    const MutexLock lock(mutex);
    streams.push_back(exchange->stream({}, {}));
    begun.set();
  });
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(served.client());
    ASSERT_TRUE(clients.back().send(get("/")));
    ASSERT_TRUE(begun.wait(i + 1));
  }
  const auto figures = [&] { return served.server->figures(); };
  // The second one alone is far behind, and the third one a little.
  ASSERT_TRUE(streams[2]->send(std::string(kPart, 'c')));
  std::size_t sent = 0;
  while (sent < (64u << 20) && streams[1]->send(std::string(kPart, 'b'))) sent += kPart;
  EXPECT_LT(sent, 64u << 20);
  EXPECT_TRUE(becomes([&] { return figures().streams_dropped == 1 && figures().stream_bytes <= kPart; }));
  EXPECT_FALSE(streams[1]->send("b"));
  ASSERT_TRUE(streams[0]->send("a"));
  for (const std::size_t i : {0u, 2u}) streams[i]->close();
  EXPECT_EQ(clients[0].read().body, "a");
  EXPECT_EQ(clients[2].read().body.size(), kPart);
  EXPECT_TRUE(becomes([&] { return figures().stream_bytes == 0; }));
  EXPECT_EQ(figures().streams_dropped, 1u);
}

TEST(HttpStream, TakesAnyNumberOfBytesOfAClientThatReads) {
  HttpLimits limits;
  limits.stream_bytes = 1'000;
  Streaming streaming(limits);
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/")));
  ASSERT_TRUE(streaming.begun.wait());
  ASSERT_TRUE(streaming.stream->send(std::string(4u << 20, 'x')));
  streaming.stream->close();
  EXPECT_EQ(client.read().body.size(), 4u << 20);
  EXPECT_EQ(streaming.gone.times(), 0);
}

TEST(HttpStream, DropsAClientThatTakesNothingInTime) {
  HttpLimits limits;
  limits.stream_bytes = 64u << 20;
  limits.write_time = Milliseconds(100);
  Streaming streaming(limits);
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/")));
  ASSERT_TRUE(streaming.begun.wait());
  ASSERT_TRUE(streaming.stream->send(std::string(32u << 20, 'x')));
  EXPECT_TRUE(streaming.gone.wait());
  EXPECT_FALSE(streaming.stream->send("x"));
  EXPECT_EQ(streaming.figures().streams_dropped, 1u);
}

TEST(HttpStream, MayBeSilentForLong) {
  HttpLimits limits;
  limits.write_time = limits.idle_time = limits.head_time = limits.body_time = Milliseconds(20);
  Streaming streaming(limits);
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/")));
  ASSERT_TRUE(streaming.begun.wait());
  ASSERT_TRUE(streaming.stream->send("a"));
  Client other = streaming.served->client();
  EXPECT_TRUE(other.ended());  // its time is over, and so are all those of the stream
  streaming.served->clock.pause(Milliseconds(50));
  ASSERT_TRUE(streaming.stream->send("b"));
  streaming.stream->close();
  EXPECT_EQ(client.read().body, "ab");
  EXPECT_EQ(streaming.gone.times(), 0);
}

TEST(HttpStream, EndsWithItsHeadForHead) {
  Streaming streaming;
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(streaming.gone.wait());
  EXPECT_EQ(client.read_head().status, 200u);
  EXPECT_TRUE(client.ended());
  EXPECT_FALSE(streaming.stream->send("a"));
}

TEST(HttpStream, EndsWholeWhenTheServerIsDrained) {
  Streaming streaming;
  Client client = streaming.served->client();
  ASSERT_TRUE(client.send(get("/")));
  ASSERT_TRUE(streaming.begun.wait());
  ASSERT_TRUE(streaming.stream->send("before"));
  bool whole = false;
  Thread drains([&] { whole = streaming.served->server->drain({}); });
  EXPECT_TRUE(streaming.gone.wait());
  EXPECT_FALSE(streaming.stream->send("after"));
  const std::string all = client.rest();
  EXPECT_TRUE(all.ends_with("6\r\nbefore\r\n0\r\n\r\n")) << all;
  client.close();
  drains.join();
  EXPECT_TRUE(whole);
  EXPECT_EQ(streaming.gone.times(), 1);
}

}  // namespace
}  // namespace agentd::serve
