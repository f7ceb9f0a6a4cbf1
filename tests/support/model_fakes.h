// SPDX-License-Identifier: Apache-2.0
#pragma once
// model_fakes.h - what tests put around a provider: a sink that remembers, a request with rows, an HTTP
// client and a clock that only play.
//
// Threading: thread-compatible.

#include <deque>
#include <string>
#include <vector>

#include "core/conversation/rows.h"
#include "core/model/provider.h"
#include "core/net/http.h"
#include "providers/common/retry.h"

namespace agentd::testing {

class RecordingSink final : public ModelSink {
 public:
  void on_text(std::string_view delta) override { text += delta; }
  void on_thinking(std::string_view delta) override { thinking += delta; }
  void on_tool_call(std::string_view, std::string_view name) override { calls.emplace_back(name); }
  void on_wait(Milliseconds wait, const ModelError& why) override {
    waits.push_back(std::to_string(wait.count()) + " ms: " + why.message);
  }
  std::string text, thinking;
  std::vector<std::string> calls, waits;
};

// A request that owns its rows.
class TestRequest {
 public:
  TestRequest() { value_.model = "claude-test"; }
  TestRequest& user(std::string text) { return add(Message::of_text(Role::kUser, std::move(text))); }
  TestRequest& add(const Message& message) {
    rows_.append(message, rows_.size() + 1, 0);
    return *this;
  }
  TestRequest& tool(std::string name, std::string schema = R"({"type":"object"})") {
    tools_.push_back({std::move(name), "does it", std::move(schema), 0, "core"});
    return *this;
  }
  // To be changed by the test.
  ModelRequest& value() {
    value_.messages = {rows_.begin(), rows_.size()};
    value_.tools = tools_;
    return value_;
  }

 private:
  Rows rows_;
  std::vector<ToolSpec> tools_;
  ModelRequest value_;
};

// Answers from a list, without sockets.
class FakeHttpClient final : public HttpClient {
 public:
  struct Answer {
    HttpResponse response;
    std::vector<std::string> pieces;
    Result<void> end;  // an error: the transfer broke after the pieces
  };
  Result<HttpResponse> send(const HttpRequest& request, const OnBody& on_body, const CancelToken& cancel,
                            Deadline) override {
    bodies.emplace_back(request.body);
    if (cancel.cancelled()) return Error{Code::kCancelled, "cancelled"};
    if (answers.empty()) return Error{Code::kUnavailable, "no answer left"};
    const Answer answer = std::move(answers.front());
    answers.pop_front();
    for (const std::string& piece : answer.pieces)
      if (!on_body(answer.response, piece)) return Error{Code::kCancelled, "ended by the reader"};
    if (!answer.end) return answer.end.error();
    return answer.response;
  }
  void warm_up() override {}

  FakeHttpClient& stream(std::vector<std::string> pieces) {
    answers.push_back({{200, {{"content-type", "text/event-stream"}}}, std::move(pieces), {}});
    return *this;
  }
  FakeHttpClient& status(int code, std::string body, std::vector<std::pair<std::string, std::string>> headers = {}) {
    answers.push_back({{code, std::move(headers)}, {std::move(body)}, {}});
    return *this;
  }
  FakeHttpClient& broken(Error error) {
    answers.push_back({{}, {}, std::move(error)});
    return *this;
  }

  std::deque<Answer> answers;
  std::vector<std::string> bodies;
};

// A clock by which nobody sleeps; it remembers how long they should have.
template <typename Time>
class Sleepless final : public Time {
 public:
  explicit Sleepless(std::vector<Milliseconds>& waits) : waits_(waits) {}
  bool sleep(Milliseconds time, const CancelToken& cancel) const override {
    waits_.push_back(time);
    if (then) then();
    return !cancel.cancelled();
  }
  std::function<void()> then{};  // happens while it waits

 private:
  std::vector<Milliseconds>& waits_;
};

}  // namespace agentd::testing
