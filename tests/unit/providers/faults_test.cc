// SPDX-License-Identifier: Apache-2.0
// Failures between a provider and its server, over real connections: how often the server is called, how long the waits
// are, the cost, and that the next request is answered. docs/internals/providers.md has the table.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <optional>

#include "core/net/curl_client.h"
#include "providers/anthropic/anthropic.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"
#include "tests/support/model_fakes.h"

namespace agentd {
namespace {

using testing::anthropic_error_body;
using testing::AnthropicWire;
using testing::Headers;
using testing::LoopbackServer;
using testing::RecordedRequest;
using testing::RecordingSink;
using testing::Reply;
using testing::Sleepless;
using testing::TestRequest;

constexpr char kFaultsKey[] = "sk-ant-test-0123456789";

// Waits in real time; its wall clock is always Tue, 14 Nov 2023 22:13:20 GMT.
class OneDay : public Clock {
 public:
  std::uint64_t monotonic_ns() const override { return real_.monotonic_ns(); }
  std::int64_t wall_ms() const override { return 1'700'000'000'000; }

 private:
  SystemClock real_;
};

std::string answer(const char* text) { return AnthropicWire().start().text({text}).finish("end_turn").bytes(); }
// Of an answer that continues.
std::string half() {
  const std::string all = AnthropicWire().start().text({"half"}).bytes();
  return all.substr(0, all.find("event: content_block_stop"));
}

// An event of a text that is sent repeatedly.
std::string piece() {
  const std::string all = AnthropicWire().start().text({"x"}).bytes();
  const std::size_t at = all.find("event: content_block_delta");
  return all.substr(at, all.find("\n\n", at) + 2 - at);
}

struct Fault {
  const char* name;
  std::function<Reply()> reply;
  ModelErrorKind kind = ModelErrorKind::kServer;
  std::uint32_t attempts = 3;
  // The range of each wait; by default the growing one, minus its random part.
  std::optional<Milliseconds> wait{};
};

Reply refusal(int status, const Headers& headers = {}, const char* type = "api_error", const char* said = "no") {
  return Reply::http(status, headers, anthropic_error_body(type, said));
}

Fault limited(const char* name, const Headers& headers, std::optional<Milliseconds> wait = {}) {
  return {name, [=] { return refusal(429, headers, "rate_limit_error", "slow"); }, ModelErrorKind::kRateLimit, 3, wait};
}

std::vector<Fault> faults() {
  using enum ModelErrorKind;
  const std::string head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
  // Made before a request waits for it.
  std::string many = head;
  for (int i = 0; i < 100'000; ++i) many += "h" + std::to_string(i) + ": x\r\n";
  many += "\r\n";
  std::vector<Fault> out{
      limited("429", {}),
      limited("429, seconds", {{"retry-after", "2"}}, Milliseconds(2'000)),
      limited("429, a fraction", {{"retry-after", "0.25"}}, Milliseconds(250)),
      limited("429, milliseconds", {{"retry-after-ms", "1500"}}, Milliseconds(1'500)),
      limited("429, a date", {{"retry-after", "Tue, 14 Nov 2023 22:13:50 GMT"}}, Milliseconds(30'000)),
      limited("429, an age", {{"retry-after", "1000000000"}}, Milliseconds(60'000)),
      limited("429, negative", {{"retry-after", "-5"}}),
      {"429, spent",
       [] { return refusal(429, {}, "rate_limit_error", "You have reached your specified API usage limits."); },
       kBilling, 1},
      {"401", [] { return refusal(401, {}, "authentication_error"); }, kAuth, 1},
      {"400", [] { return refusal(400, {}, "invalid_request_error"); }, kInvalid, 1},
      {"529", [] { return refusal(529, {}, "overloaded_error"); }, kOverloaded},
      {"500", [] { return refusal(500); }, kServer},
      {"502", [] { return Reply::http(502, {}, "<html>bad gateway</html>"); }, kServer},
      {"an error event before the answer",
       [] { return Reply::stream(AnthropicWire().error("overloaded_error", "no").bytes()); }, kOverloaded},
      {"an error event within the answer",
       [] { return Reply::stream(AnthropicWire().start().text({"half"}).error("overloaded_error", "no").bytes()); },
       kOverloaded, 1},
      {"gzip that was not asked for",
       [=] { return Reply().send(head + "content-encoding: gzip\r\n\r\n").repeat(std::string(1000, '\0')); }, kInvalid,
       1},
      {"100,000 headers", [=] { return Reply().send(many); }, kInterrupted, 1},
  };
  // Where in the answer it happens, and what happens.
  const std::vector<std::pair<std::string, std::string>> phases{{"before it", ""},
                                                                {"in its first line", "HTTP/1.1 20"},
                                                                {"in its headers", head},
                                                                {"behind its headers", head + "\r\n"},
                                                                {"in its text", head + "\r\n" + half()}};
  static std::vector<std::string> names;
  names.reserve(2 * phases.size());
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const std::string& sent = phases[i].second;
    const ModelErrorKind kind = i < 3 ? kNetwork : kInterrupted;
    const std::uint32_t attempts = i < 3 ? 3 : 1;
    const std::string &reset = names.emplace_back("a reset " + phases[i].first),
                      &stall = names.emplace_back("silence " + phases[i].first);
    // Bytes that wait to be read are lost in a reset, so the server waits for them.
    out.push_back({reset.c_str(), [=] { return Reply().send(sent).reset(); }, kind, attempts});
    out.push_back({stall.c_str(), [=] { return Reply().send(sent).stall(); }, kind, attempts});
  }
  return out;
}

class Faults : public ::testing::Test {
 protected:
  Faults() {
    options_.api_key = kFaultsKey;
    options_.limits.idle_timeout = Milliseconds(250);
  }
  void make(const Clock& clock, const std::string& url) {
    http_ = make_http_client(clock);
    options_.base_url = url;
    provider_ = make_anthropic_provider(options_, *http_, clock);
  }
  ModelResult ask(ModelSink& sink, RetryBudget* budget = nullptr) {
    TestRequest request;
    request.user("hello").value().retries = budget;
    waits_.clear();
    return provider_->complete(request.value(), sink, {}, {});
  }

  AnthropicOptions options_;
  std::vector<Milliseconds> waits_;
  std::unique_ptr<HttpClient> http_;
  std::unique_ptr<ModelProvider> provider_;
};

TEST_F(Faults, AreAskedForAgainAsOftenAndAsLateAsTheTableSays) {
  const Sleepless<OneDay> clock(waits_);
  std::function<Reply()> now;
  LoopbackServer server([&](const RecordedRequest&) { return now(); });
  make(clock, server.url());
  for (const Fault& fault : faults()) {
    SCOPED_TRACE(fault.name);
    RecordingSink sink;
    now = fault.reply;
    const std::size_t before = server.requests().size();
    const auto failed = ask(sink);
    ASSERT_FALSE(failed);
    EXPECT_EQ(name_of(failed.error().kind), name_of(fault.kind)) << failed.error().message;
    EXPECT_EQ(failed.error().attempts, fault.attempts) << failed.error().message;
    // A reset may destroy a request that the server has not read.
    EXPECT_LE(server.requests().size() - before, fault.attempts);
    ASSERT_EQ(waits_.size(), fault.attempts - 1);
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      const Milliseconds growing((i + 1) * 500);
      EXPECT_GE(waits_[i], fault.wait.value_or(growing * 3 / 4));
      EXPECT_LE(waits_[i], fault.wait.value_or(growing));
    }
    now = [] { return Reply::stream(answer("well")); };
    const auto next = ask(sink);
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(next->message.text(), "well");
    EXPECT_TRUE(waits_.empty());
  }
}

TEST_F(Faults, ABurstOfOverloadsIsWaitedOut) {
  const Sleepless<OneDay> clock(waits_);
  LoopbackServer server({refusal(529), refusal(529), Reply::stream(answer("well"))});
  make(clock, server.url());
  RecordingSink sink;
  EXPECT_TRUE(ask(sink));
  EXPECT_EQ(waits_.size(), 2u);
}

// No byte of a key reaches the other host, whatever the redirect is.
TEST_F(Faults, ARedirectIsNotFollowed) {
  const Sleepless<OneDay> clock(waits_);
  LoopbackServer other([](const RecordedRequest&) { return Reply::stream(answer("stolen")); });
  for (const int status : {301, 302, 303, 307, 308}) {
    const std::string target = "http://localhost:" + std::to_string(other.port());
    LoopbackServer server({Reply::http(status, {{"location", target}}, "")});
    make(clock, server.url());
    RecordingSink sink;
    const auto answered = ask(sink);
    ASSERT_FALSE(answered);
    EXPECT_EQ(answered.error().kind, ModelErrorKind::kInvalid);
    EXPECT_EQ(server.requests().size(), 1u);
  }
  EXPECT_EQ(other.connections(), 0u);
}

// Advances the clock by a second with each piece of the answer.
class TickingSink final : public ModelSink {
 public:
  explicit TickingSink(ManualClock& clock) : clock_(clock) {}
  void on_text(std::string_view) override { clock_.advance(Milliseconds(1'000)); }
  void on_thinking(std::string_view) override {}
  void on_tool_call(std::string_view, std::string_view) override {}
  void on_wait(Milliseconds, const ModelError&) override {}

 private:
  ManualClock& clock_;
};

TEST_F(Faults, AnAnswerThatDripsEndsWhenTheTimeIsOver) {
  Sleepless<ManualClock> clock(waits_);
  LoopbackServer server([](const RecordedRequest&) { return Reply::stream(half()).repeat(piece()); });
  options_.limits.idle_timeout = Milliseconds(300'000);
  make(clock, server.url());
  TickingSink sink(clock);
  const auto dripped = ask(sink);
  ASSERT_FALSE(dripped);
  EXPECT_EQ(dripped.error().kind, ModelErrorKind::kInterrupted);
  EXPECT_FALSE(dripped.error().retryable) << "it would take as long again";
  EXPECT_EQ(dripped.error().message,
            "anthropic: no complete answer within 3600000 ms, the limit of "
            "providers.anthropic.total_timeout_ms");
  EXPECT_EQ(dripped.error().partial.text().substr(0, 5), "halfx");
  EXPECT_EQ(server.requests().size(), 1u);
}

// Waits count as well.
TEST_F(Faults, AttemptsAndWaitsHaveOneTotalTime) {
  const Sleepless<OneDay> clock(waits_);
  LoopbackServer server([](const RecordedRequest&) { return refusal(429, {{"retry-after", "40"}}); });
  options_.limits.total_timeout = Milliseconds(30'000);
  make(clock, server.url());
  RecordingSink sink;
  EXPECT_FALSE(ask(sink));
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_TRUE(waits_.empty());
}

std::uint64_t resident_bytes_max() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  return 0;
}

// Sanitizers keep freed memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountsMemory = false;
#else
constexpr bool kCountsMemory = true;
#endif

TEST_F(Faults, AStreamWithoutEndEndsAndTakesLittleMemory) {
  const Sleepless<OneDay> clock(waits_);
  const std::vector<std::pair<std::string, const char*>> endless{
      {AnthropicWire().ping().bytes(), "more than 67108864 bytes"},
      {": comment\n", "more than 67108864 bytes"},
      {piece(), "more than 67108864 bytes"},
      {"no line end", "a line of more than"},
      {"data: more of one event\n", "an event of more than"},
  };
  std::size_t now = 0;
  LoopbackServer server([&](const RecordedRequest&) {
    std::string many;
    while (many.size() < 64'000) many += endless[now].first;
    return Reply::stream(half()).repeat(many);
  });
  options_.limits.idle_timeout = Milliseconds(300'000);
  make(clock, server.url());
  for (now = 0; now < endless.size(); ++now) {
    SCOPED_TRACE(endless[now].first);
    NullModelSink sink;
    const std::uint64_t before = resident_bytes_max();
    const auto answered = ask(sink);
    ASSERT_FALSE(answered);
    EXPECT_NE(answered.error().message.find(endless[now].second), std::string::npos) << answered.error().message;
    EXPECT_EQ(server.requests().size(), now + 1);
    if (kCountsMemory) {
      EXPECT_LT(resident_bytes_max() - before, 64u << 20);
    }
  }
}

TEST_F(Faults, ARunHasOneBudgetOfAttemptsForAllOfItsRequests) {
  const Sleepless<OneDay> clock(waits_);
  LoopbackServer server([](const RecordedRequest&) { return refusal(500); });
  make(clock, server.url());
  RetryBudget budget(3);
  RecordingSink sink;
  const auto first = ask(sink, &budget);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().attempts, 3u);
  EXPECT_EQ(first.error().message.find("retries_per_run"), std::string::npos);
  const auto second = ask(sink, &budget);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().attempts, 2u);
  EXPECT_NE(second.error().message.find("the 3 attempts that network.retries_per_run allows are used up"),
            std::string::npos)
      << second.error().message;
  EXPECT_EQ(ask(sink, &budget).error().attempts, 1u);
  EXPECT_EQ(server.requests().size(), 6u);
}

}  // namespace
}  // namespace agentd
