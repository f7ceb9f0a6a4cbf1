// SPDX-License-Identifier: Apache-2.0
#include "bench/macro/model_server.h"

#include "tests/support/anthropic_wire.h"

namespace agentd::bench {
namespace {

using testing::AnthropicWire;
using testing::Reply;

constexpr std::string_view kEnd = "event: message_delta";

// One piece of the reply for each event, as a server flushes them.
std::vector<std::string> events(std::string_view stream) {
  std::vector<std::string> out;
  while (!stream.empty()) {
    const std::size_t end = std::min(stream.find("\n\n"), stream.size() - 2) + 2;
    out.emplace_back(stream.substr(0, end));
    stream.remove_prefix(end);
  }
  return out;
}

std::string text_stream() {
  AnthropicWire wire;
  wire.start().text(std::vector<std::string>(20, "a few words of the answer ")).finish("end_turn");
  return wire.bytes();
}

std::vector<Reply> tool_replies() {
  std::vector<Reply> out;
  for (std::size_t i = 0; i < kToolCalls; ++i) {
    AnthropicWire wire;
    wire.start()
        .tool_use("toolu_bench" + std::to_string(i), "bash",
                  {R"({"command":)", "\"" + std::string(kToolCommand) + "\"}"})
        .finish("tool_use");
    out.push_back(Reply::chunked(events(wire.bytes())));
  }
  return out;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t out = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) ++out;
  return out;
}

Reply held() {
  const std::string stream = text_stream();
  Reply reply = Reply::chunked(events(std::string_view(stream).substr(0, stream.find(kEnd))), false);
  return reply.stall();
}

}  // namespace

ModelServer::ModelServer()
    : text_(Reply::chunked(events(text_stream()))),
      hold_(held()),
      tools_(tool_replies()),
      server_([this](const testing::RecordedRequest& request) { return answer(request); }) {}

Reply ModelServer::answer(const testing::RecordedRequest& request) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  arrivals_.push_back(now);
  last_body_ = request.body;
  switch (mode_) {
    case Mode::kText:
      return text_;
    case Mode::kHold:
      return hold_;
    case Mode::kTool: {
      const std::size_t results = count(request.body, R"("tool_use_id":"toolu_bench)");
      return results < kToolCalls ? tools_[results] : text_;
    }
  }
  return text_;
}

void ModelServer::set_mode(Mode mode) {
  const std::lock_guard lock(mutex_);
  mode_ = mode;
  arrivals_.clear();
}

std::vector<ModelServer::Time> ModelServer::arrivals() const {
  const std::lock_guard lock(mutex_);
  return arrivals_;
}

std::size_t ModelServer::tool_outputs() const { return count(last_body(), kToolOutput); }

std::string ModelServer::last_body() const {
  const std::lock_guard lock(mutex_);
  return last_body_;
}

}  // namespace agentd::bench
