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

std::string tool_stream() {
  AnthropicWire wire;
  wire.start().tool_use("toolu_bench", "bash", {R"({"command":)", R"("printf bench-%s ran"})"}).finish("tool_use");
  return wire.bytes();
}

Reply held() {
  const std::string stream = text_stream();
  Reply reply = Reply::chunked(events(std::string_view(stream).substr(0, stream.find(kEnd))), false);
  return reply.stall();
}

}  // namespace

ModelServer::ModelServer()
    : text_(Reply::chunked(events(text_stream()))),
      tool_(Reply::chunked(events(tool_stream()))),
      hold_(held()),
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
    case Mode::kTool:
      return request.body.find("toolu_bench") == std::string::npos ? tool_ : text_;
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

std::string ModelServer::last_body() const {
  const std::lock_guard lock(mutex_);
  return last_body_;
}

}  // namespace agentd::bench
