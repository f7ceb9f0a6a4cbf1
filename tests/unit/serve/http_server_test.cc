// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http_server.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/thread.h"
#include "tests/unit/serve/client.h"

namespace agentd::serve {
namespace {

using testing::Answer;
using testing::becomes;
using testing::Client;
using testing::Event;
using testing::get;
using testing::post;
using testing::Served;

HttpServerOptions with(const std::function<void(HttpLimits&)>& change) {
  HttpServerOptions options;
  change(options.limits);
  return options;
}

// Exchanges that a test answers itself.
class Held {
 public:
  HttpHandler handler() {
    return [this](std::shared_ptr<HttpExchange> exchange) {
      {
        const MutexLock lock(mutex_);
        all_.push_back(std::move(exchange));
      }
      came_.set();
    };
  }
  std::shared_ptr<HttpExchange> take() {
    EXPECT_TRUE(came_.wait(++taken_));
    const MutexLock lock(mutex_);
    if (all_.empty()) return nullptr;
    auto first = std::move(all_.front());
    all_.erase(all_.begin());
    return first;
  }

 private:
  Event came_;
  Mutex mutex_;
  std::vector<std::shared_ptr<HttpExchange>> all_ GUARDED_BY(mutex_);
  int taken_ = 0;
};

// ---- requests and answers

TEST(HttpServer, AnswersAndKeepsTheConnection) {
  const Served served;
  Client client = served.client();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send(get("/a?b=" + std::to_string(i))));
    const Answer answer = client.read();
    EXPECT_EQ(answer.status, 200u);
    EXPECT_EQ(answer.body, "GET /a?b=" + std::to_string(i) + " 0 ");
    EXPECT_TRUE(answer.has("Cache-Control: no-store\r\n"));
    EXPECT_TRUE(answer.has("X-Content-Type-Options: nosniff\r\n"));
    EXPECT_FALSE(answer.has("Connection: close"));
    EXPECT_FALSE(answer.has("Server:"));
  }
  EXPECT_EQ(served.server->figures().accepted, 1u);
  EXPECT_EQ(served.server->figures().requests, 3u);
}

TEST(HttpServer, EndsTheConnectionWhenTheClientWantsIt) {
  const Served served;
  Client client = served.client();
  ASSERT_TRUE(client.send(get("/a", "Connection: close\r\n") + get("/never")));
  const Answer answer = client.read();
  EXPECT_EQ(answer.body, "GET /a 0 ");
  EXPECT_TRUE(answer.has("Connection: close\r\n"));
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(served.server->figures().requests, 1u);
}

TEST(HttpServer, AnswersRequestsThatCameTogetherInTheirOrder) {
  Held held;
  const Served served({}, held.handler());
  Client client = served.client();
  ASSERT_TRUE(client.send(get("/1") + post("/2", "two") + get("/3")));
  for (const char* const target : {"/1", "/2", "/3"}) {
    const auto exchange = held.take();
    ASSERT_TRUE(exchange);
    // Nothing is handled before the answer of what came first.
    EXPECT_EQ(exchange->head().target, target);
    EXPECT_EQ(served.server->figures().requests, static_cast<std::uint64_t>(target[1] - '0'));
    exchange->reply(testing::echo(*exchange));
  }
  EXPECT_EQ(client.read().body, "GET /1 0 ");
  EXPECT_EQ(client.read().body, "POST /2 3 two");
  EXPECT_EQ(client.read().body, "GET /3 0 ");
}

TEST(HttpServer, ReadsRequestsByteByByte) {
  const Served served;
  Client client = served.client();
  for (const char byte : post("/a", "abc", "X: y\r\n") + get("/b")) ASSERT_TRUE(client.send({&byte, 1}));
  EXPECT_EQ(client.read().body, "POST /a 3 abc");
  EXPECT_EQ(client.read().body, "GET /b 0 ");
}

TEST(HttpServer, TellsTheHandlerWhoAsked) {
  Held held;
  HttpServerOptions options;
  options.places = {{"127.0.0.1", 0}, {"127.0.0.1", 0}};
  const Served served(std::move(options), held.handler());
  ASSERT_EQ(served.server->ports().size(), 2u);
  const std::uint16_t port = served.server->ports()[1];
  EXPECT_NE(port, served.port);
  Client client = Client::tcp(port);
  ASSERT_TRUE(client.send(get("/")));
  const auto exchange = held.take();
  ASSERT_TRUE(exchange);
  EXPECT_EQ(exchange->head().peer.door, HttpPeer::Door::kTcp);
  EXPECT_EQ(exchange->head().peer.address, "127.0.0.1");
  EXPECT_EQ(exchange->head().port, port);
}

TEST(HttpServer, GivesHeadNoBody) {
  const Served served;
  Client client = served.client();
  ASSERT_TRUE(client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n" + get("/b", "Connection: close\r\n")));
  const std::string all = client.rest();
  EXPECT_NE(all.find("Content-Length: 10\r\n"), std::string::npos);
  EXPECT_EQ(all.find("HEAD /a"), std::string::npos);
  EXPECT_TRUE(all.ends_with("\r\n\r\nGET /b 0 "));
}

TEST(HttpServer, AnswersFromAnyThreadAndOnce) {
  Held held;
  const Served served({}, held.handler());
  Client client = served.client();
  ASSERT_TRUE(client.send(get("/a") + get("/b")));
  auto exchange = held.take();
  Thread([&] {
    exchange->reply(testing::echo(*exchange));
    exchange->reply(error_reply(500, "internal", "a second answer"));
    Event gone;
    const auto stream = exchange->stream({}, [&] { gone.set(); });
    EXPECT_FALSE(stream->send("a third"));
    EXPECT_EQ(gone.times(), 1);
    exchange.reset();
  }).join();
  EXPECT_EQ(client.read().body, "GET /a 0 ");
  held.take()->reply({});
  EXPECT_EQ(client.read().status, 200u);
}

TEST(HttpServer, Answers500WhenNobodyDoes) {
  Held held;
  const Served served({}, held.handler());
  Client client = served.client();
  ASSERT_TRUE(client.send(get("/a") + get("/b")));
  held.take().reset();
  EXPECT_EQ(client.read().status, 500u);
  const auto second = held.take();
  second->reply({});
  EXPECT_EQ(client.read().status, 200u);
}

TEST(HttpServer, IsOutlivedByExchangesAndStreams) {
  Held held;
  std::shared_ptr<HttpExchange> first, second;
  std::shared_ptr<HttpStream> stream;
  Event gone, gone_later;
  {
    const Served served({}, held.handler());
    Client one = served.client(), two = served.client(), three = served.client();
    for (Client* const each : {&one, &two, &three}) ASSERT_TRUE(each->send(post("/", "body")));
    first = held.take(), second = held.take();
    stream = held.take()->stream({}, [&] { gone.set(); });
    ASSERT_TRUE(stream->send("a"));
  }
  EXPECT_EQ(gone.times(), 1);
  EXPECT_FALSE(stream->send("b"));
  first->reply({});
  EXPECT_EQ(second->body(), "body");
  EXPECT_FALSE(second->stream({}, [&] { gone_later.set(); })->send("c"));
  EXPECT_EQ(gone_later.times(), 1);
}

TEST(HttpServer, RefusesAndClosesWhatIsNotARequest) {
  const Served served;
  for (const std::string& bad : {std::string("GET / HTTP/1.1\nHost: x\n\n"), get("/", "Content-Length : 5\r\n"),
                                 post("/", "abc", "Transfer-Encoding: chunked\r\n"), std::string("\x16\x03\x01")}) {
    Client client = served.client();
    ASSERT_TRUE(client.send(bad + get("/smuggled")));
    EXPECT_EQ(client.read().status, 400u) << bad;
    EXPECT_TRUE(client.ended()) << bad;
  }
  EXPECT_EQ(served.server->figures().requests, 0u);
  Client client = served.client();
  ASSERT_TRUE(client.send(get("/")));
  EXPECT_EQ(client.read().status, 200u);
}

// ---- the gate

TEST(HttpServer, AsksTheGateBeforeItReadsTheBody) {
  Event handled;
  const auto gate = [](const RequestHead& head) -> std::optional<HttpReply> {
    if (head.target == "/open") return std::nullopt;
    return error_reply(401, "unauthorized", "a token is needed");
  };
  const Served served(
      {},
      [&](const std::shared_ptr<HttpExchange>& exchange) {
        handled.set();
        exchange->reply(testing::echo(*exchange));
      },
      gate);
  Client client = served.client();
  // Its body never comes.
  ASSERT_TRUE(client.send("POST /shut HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"));
  const Answer answer = client.read();
  EXPECT_EQ(answer.status, 401u);
  EXPECT_TRUE(answer.has("Connection: close\r\n"));
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(handled.times(), 0);
  Client other = served.client();
  ASSERT_TRUE(other.send(post("/open", "abc")));
  EXPECT_EQ(other.read().body, "POST /open 3 abc");
}

TEST(HttpServer, AsksForABodyThatWaits) {
  const Served served;
  Client client = served.client();
  ASSERT_TRUE(client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.read().status, 100u);
  ASSERT_TRUE(client.send("abc"));
  EXPECT_EQ(client.read().body, "POST /a 3 abc");
  // One that did not wait gets no such answer.
  ASSERT_TRUE(client.send(post("/b", "abc", "Expect: 100-continue\r\n")));
  EXPECT_EQ(client.read().body, "POST /b 3 abc");
}

// ---- bodies

std::string chunked(std::string_view body) {
  return "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body);
}

TEST(HttpServer, PutsChunksTogether) {
  const Served served;
  Client client = served.client();
  ASSERT_TRUE(client.send(chunked("3\r\nabc\r\nA\r\n0123456789\r\n002\r\n\r\n\r\n0\r\n\r\n") + get("/b")));
  EXPECT_EQ(client.read().body, "POST /a 15 abc0123456789\r\n");
  EXPECT_EQ(client.read().body, "GET /b 0 ");
  for (const char byte : chunked("1\r\nx\r\n0\r\n\r\n")) ASSERT_TRUE(client.send({&byte, 1}));
  EXPECT_EQ(client.read().body, "POST /a 1 x");
  ASSERT_TRUE(client.send(chunked("0\r\n\r\n")));
  EXPECT_EQ(client.read().body, "POST /a 0 ");
}

TEST(HttpServer, RefusesChunksThatTwoReadersMayDiffer) {
  const Served served;
  const std::map<const char*, std::string> all = {
      {"an extension", "3;a=b\r\nabc\r\n0\r\n\r\n"},
      {"an extension of the last", "3\r\nabc\r\n0;a\r\n\r\n"},
      {"a blank", "3 \r\nabc\r\n0\r\n\r\n"},
      {"a blank of the last", "3\r\nabc\r\n0 \r\n\r\n"},
      {"a blank first", " 3\r\nabc\r\n0\r\n\r\n"},
      {"a sign", "+3\r\nabc\r\n0\r\n\r\n"},
      {"a prefix", "0x3\r\nabc\r\n0\r\n\r\n"},
      {"no size", "\r\nabc\r\n0\r\n\r\n"},
      {"no digits", "g\r\nabc\r\n0\r\n\r\n"},
      {"a line feed", "3\nabc\r\n0\r\n\r\n"},
      {"a line feed after the data", "3\r\nabc\n0\r\n\r\n"},
      {"a carriage return", "3\rabc\r\n0\r\n\r\n"},
      {"data that is longer", "3\r\nabcd\r\n0\r\n\r\n"},
      {"data that is shorter", "4\r\nabc\r\n0\r\n\r\n"},
      {"a size beyond 64 bits", "10000000000000003\r\nabc\r\n0\r\n\r\n"},
      {"trailers", "3\r\nabc\r\n0\r\nX: y\r\n\r\n"},
      {"a trailer that is a length", "3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n"},
      {"a line without end", std::string(8'000, '0')},
      {"trailers without end", "3\r\nabc\r\n0\r\nX: " + std::string(8'000, 'y')},
  };
  for (const auto& [name, body] : all) {
    Client client = served.client();
    ASSERT_TRUE(client.send(chunked(body)));
    const Answer answer = client.read();
    EXPECT_TRUE(answer.status == 400 || answer.status == 413) << name << ": " << answer.status << " " << answer.body;
    EXPECT_TRUE(client.ended()) << name;
  }
}

TEST(HttpServer, HasALimitOfABody) {
  const Served served(with([](HttpLimits& limits) { limits.body_bytes = 1'000; }));
  Client client = served.client();
  ASSERT_TRUE(client.send(post("/a", std::string(1'000, 'a'))));
  EXPECT_EQ(client.read().status, 200u);
  ASSERT_TRUE(client.send(chunked("3e8\r\n" + std::string(1'000, 'a') + "\r\n0\r\n\r\n")));
  EXPECT_EQ(client.read().status, 200u);
  // The length is enough to refuse it.
  ASSERT_TRUE(client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"));
  EXPECT_EQ(client.read().status, 413u);
  EXPECT_TRUE(client.ended());
  Client other = served.client();
  ASSERT_TRUE(other.send(chunked("3e8\r\n" + std::string(1'000, 'a') + "\r\n1\r\na\r\n")));
  EXPECT_EQ(other.read().status, 413u);
  EXPECT_TRUE(other.ended());
  EXPECT_TRUE(becomes([&] { return served.server->figures().body_bytes == 0; }));
}

TEST(HttpServer, HasALimitOfAllBodies) {
  Held held;
  const Served served(with([](HttpLimits& limits) { limits.bodies_bytes = 1'000; }), held.handler());
  Client one = served.client(), two = served.client(), three = served.client();
  ASSERT_TRUE(one.send(post("/a", std::string(600, 'a'))));
  auto exchange = held.take();
  EXPECT_EQ(served.server->figures().body_bytes, 600u);
  ASSERT_TRUE(two.send(post("/a", std::string(401, 'a'))));
  const Answer full = two.read();
  EXPECT_EQ(full.status, 503u);
  EXPECT_TRUE(full.has("Retry-After: "));
  ASSERT_TRUE(three.send(chunked("191\r\n" + std::string(401, 'a') + "\r\n")));
  EXPECT_EQ(three.read().status, 503u);
  EXPECT_TRUE(becomes([&] { return served.server->figures().body_bytes == 600; }));
  // What was answered and is held by nobody counts no more.
  exchange->reply({});
  exchange.reset();
  EXPECT_EQ(one.read().status, 200u);
  ASSERT_TRUE(one.send(post("/a", std::string(401, 'a'))));
  held.take()->reply({});
  EXPECT_EQ(one.read().status, 200u);
  EXPECT_TRUE(becomes([&] { return served.server->figures().body_bytes == 0; }));
}

// ---- heads

TEST(HttpServer, HasALimitOfAHead) {
  const Served served(with([](HttpLimits& limits) {
    limits.head_bytes = 1'000;
    limits.fields = 10;
  }));
  Client client = served.client();
  const std::string head = get("/", "X: " + std::string(1'000 - get("/", "X: \r\n").size(), 'x') + "\r\n");
  ASSERT_EQ(head.size(), 1'000u);
  ASSERT_TRUE(client.send(head));
  EXPECT_EQ(client.read().status, 200u);
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(2'000, 'x')));
  EXPECT_EQ(client.read().status, 431u);
  EXPECT_TRUE(client.ended());
  Client other = served.client();
  std::string fields;
  for (int i = 0; i < 10; ++i) fields += "X: y\r\n";
  ASSERT_TRUE(other.send(get("/", fields)));
  EXPECT_EQ(other.read().status, 431u);
}

// ---- times

TEST(HttpServer, EndsConnectionsThatSayNothing) {
  const Served served(with([](HttpLimits& limits) { limits.head_time = Milliseconds(20); }));
  Client client = served.client();
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(served.server->figures().timed_out, 1u);
}

TEST(HttpServer, EndsHeadsThatDrip) {
  const Served served(with([](HttpLimits& limits) { limits.head_time = Milliseconds(50); }));
  Client client = served.client();
  const std::string head = get("/", "X: " + std::string(20'000, 'x') + "\r\n");
  std::size_t sent = 0;
  // A byte at a time, which does not begin the time again.
  while (sent < head.size() && served.server->figures().timed_out == 0 && client.send(head.substr(sent, 1))) {
    ++sent;
    served.clock.pause(Milliseconds(5));
  }
  EXPECT_LT(sent, head.size());
  EXPECT_EQ(client.read().status, 408u);
  EXPECT_TRUE(client.ended());
}

TEST(HttpServer, EndsBodiesThatDrip) {
  const Served served(with([](HttpLimits& limits) { limits.body_time = Milliseconds(50); }));
  Client client = served.client();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n"));
  std::size_t sent = 0;
  while (sent < 20'000 && served.server->figures().timed_out == 0 && client.send("x")) {
    ++sent;
    served.clock.pause(Milliseconds(5));
  }
  EXPECT_LT(sent, 20'000u);
  EXPECT_EQ(client.read().status, 408u);
  EXPECT_TRUE(client.ended());
  EXPECT_TRUE(becomes([&] { return served.server->figures().body_bytes == 0; }));
}

TEST(HttpServer, EndsIdleConnections) {
  const Served served(with([](HttpLimits& limits) { limits.idle_time = Milliseconds(20); }));
  Client client = served.client();
  ASSERT_TRUE(client.send(get("/")));
  EXPECT_EQ(client.read().status, 200u);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(served.server->figures().timed_out, 0u);  // which is nobody's fault
}

TEST(HttpServer, DropsClientsThatDoNotTakeTheirAnswer) {
  const std::string large(32u << 20, 'x');
  const auto handler = [&](const std::shared_ptr<HttpExchange>& exchange) {
    HttpReply reply;
    reply.body = large;
    exchange->reply(std::move(reply));
  };
  const Served served(with([](HttpLimits& limits) { limits.write_time = Milliseconds(100); }), handler);
  Client slow = served.client(), healthy = served.client();
  ASSERT_TRUE(slow.send(get("/")));
  EXPECT_TRUE(becomes([&] { return served.server->figures().timed_out == 1; }));
  EXPECT_LT(slow.rest().size(), large.size());
  ASSERT_TRUE(healthy.send(get("/")));
  EXPECT_EQ(healthy.read().body.size(), large.size());
}

// ---- connections

TEST(HttpServer, AnswersNextToConnectionsThatSayNothing) {
  const Served served;
  std::vector<Client> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(served.client());
    ASSERT_TRUE(silent.back().connected());
    ASSERT_TRUE(silent.back().send(i % 2 == 0 ? "GET / HTTP/1.1\r\nHo" : ""));
  }
  Client client = served.client();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(client.send(get("/")));
    ASSERT_EQ(client.read().status, 200u);
  }
  EXPECT_EQ(served.server->figures().connections, 201u);
  silent.clear();
  client.close();
  EXPECT_TRUE(becomes([&] { return served.server->figures().connections == 0; }));
}

TEST(HttpServer, MakesPlaceByClosingWhoSaidNothing) {
  for (const bool per_peer : {false, true}) {
    const Served served(
        with([&](HttpLimits& limits) { (per_peer ? limits.connections_per_peer : limits.connections) = 3; }));
    Client idle = served.client();
    ASSERT_TRUE(idle.send(get("/")));
    ASSERT_EQ(idle.read().status, 200u);
    Client first = served.client(), second = served.client();
    ASSERT_TRUE(becomes([&] { return served.server->figures().connections == 3; }));
    Client third = served.client();
    ASSERT_TRUE(third.send(get("/")));
    EXPECT_EQ(third.read().status, 200u);
    EXPECT_TRUE(first.ended());  // which had waited longest for a head
    for (Client* const each : {&idle, &second}) {
      ASSERT_TRUE(each->send(get("/")));
      EXPECT_EQ(each->read().status, 200u);
    }
    EXPECT_EQ(served.server->figures().refused, 1u);
    EXPECT_EQ(served.server->figures().connections, 3u);
  }
}

TEST(HttpServer, RefusesConnectionsWhenAllOthersAreAtWork) {
  Held held;
  const Served served(with([](HttpLimits& limits) { limits.connections = 2; }), held.handler());
  Client one = served.client(), two = served.client();
  ASSERT_TRUE(one.send(get("/")));
  ASSERT_TRUE(two.send(get("/")));
  auto first = held.take();
  const auto second = held.take();
  Client third = served.client();
  EXPECT_TRUE(third.ended());
  EXPECT_EQ(served.server->figures().refused, 1u);
  first->reply({});
  EXPECT_EQ(one.read().status, 200u);
  Client fourth = served.client();
  ASSERT_TRUE(fourth.send(get("/")));
  held.take()->reply({});
  EXPECT_EQ(fourth.read().status, 200u);
  second->reply({});
  EXPECT_EQ(two.read().status, 200u);
}

// ---- the end

TEST(HttpServer, Pings) {
  const Served served;
  Event pinged;
  served.server->ping([&] { pinged.set(); });
  EXPECT_TRUE(pinged.wait());
}

TEST(HttpServer, DrainsWhatIsUnderWay) {
  Held held;
  const Served served({}, held.handler());
  Client busy = served.client(), idle = served.client();
  ASSERT_TRUE(idle.send(get("/")));
  held.take()->reply({});
  ASSERT_EQ(idle.read().status, 200u);
  ASSERT_TRUE(busy.send(get("/a") + get("/b")));
  const auto exchange = held.take();
  bool whole = false;
  Thread drains([&] { whole = served.server->drain({}); });
  EXPECT_TRUE(idle.ended());
  EXPECT_FALSE(served.client().connected());
  exchange->reply({});
  const Answer answer = busy.read();
  EXPECT_EQ(answer.status, 200u);
  EXPECT_TRUE(answer.has("Connection: close\r\n"));
  EXPECT_TRUE(busy.ended());
  busy.close();
  drains.join();
  EXPECT_TRUE(whole);
  EXPECT_EQ(served.server->figures().requests, 2u);
  EXPECT_TRUE(served.server->drain({}));  // once more
}

TEST(HttpServer, BreaksOffAtTheDeadline) {
  Held held;
  const Served served({}, held.handler());
  Client client = served.client();
  ASSERT_TRUE(client.send(get("/")));
  const auto exchange = held.take();
  EXPECT_FALSE(served.server->drain(Deadline::after(served.clock, Milliseconds(10))));
  EXPECT_TRUE(client.ended());
  exchange->reply({});
}

}  // namespace
}  // namespace agentd::serve
