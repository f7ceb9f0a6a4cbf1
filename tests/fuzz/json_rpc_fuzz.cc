// SPDX-License-Identifier: Apache-2.0
// A stream of JSON-RPC as any bytes: the first one says how it is framed and cut. Cut or whole, it gives the same
// texts; a text that is no message has a sentence, and a message that is written again is read as the same.
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/codec/json_rpc.h"
#include "core/codec/rpc_frames.h"
#include "tests/fuzz/target.h"

namespace {

using namespace agentd;
using agentd::fuzz::require;

constexpr std::size_t kTextMax = 2'000;

std::vector<std::string> texts_of(RpcFraming framing, std::string_view bytes, std::size_t piece) {
  RpcFrames frames(framing, kTextMax);
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    frames.feed(bytes.substr(at, piece));
    for (;;) {
      auto text = frames.next();
      if (!text) {
        require(is_utf8(text.error().message), "a refusal is a sentence");
        out.push_back("refused");
        continue;
      }
      if (!*text) break;
      require((*text)->size() <= kTextMax, "a text is within its bound");
      out.push_back(std::move(**text));
    }
  }
  return out;
}

std::string written(const RpcMessage& message) {
  const JsonView params = message.params();
  switch (message.kind) {
    case RpcMessage::Kind::kRequest:
      return rpc_request(message.id, message.method, params.exists() ? params.text() : "");
    case RpcMessage::Kind::kNotification:
      return rpc_notification(message.method, params.exists() ? params.text() : "");
    case RpcMessage::Kind::kResult:
      return R"({"jsonrpc":"2.0","id":)" + message.id.json() + R"(,"result":)" + message.result().text() + "}";
    case RpcMessage::Kind::kFault:
      return rpc_fault(message.id, message.fault);
  }
  return {};
}

void check_text(const std::string& text) {
  const auto read = read_rpc(text);
  if (const auto* const refusal = std::get_if<RpcRefusal>(&read)) {
    require(!refusal->fault.message.empty() && refusal->fault.code < 0, "a refusal has its code and its sentence");
    require(is_utf8(rpc_fault(refusal->id, refusal->fault)), "a refusal can be answered");
    return;
  }
  ++agentd::fuzz::got_through;
  const auto& message = std::get<RpcMessage>(read);
  const std::string once = written(message);
  for (const RpcFraming framing : {RpcFraming::kLines, RpcFraming::kLength}) {
    const auto framed = texts_of(framing, rpc_frame(framing, once), 3);
    require(once.size() > kTextMax || (framed.size() == 1 && framed[0] == once), "a frame has the message");
  }
  const auto again = read_rpc(once);
  require(std::holds_alternative<RpcMessage>(again), "what is written is a message");
  const auto& twice = std::get<RpcMessage>(again);
  require(twice.kind == message.kind && twice.id == message.id && twice.method == message.method &&
              twice.fault.code == message.fault.code && twice.fault.message == message.fault.message,
          "it is the same message");
  require(written(twice) == once, "it is written in the same way");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const RpcFraming framing = data[0] % 2 == 0 ? RpcFraming::kLines : RpcFraming::kLength;
  const std::string_view bytes = agentd::fuzz::view(data + 1, size - 1);
  const auto texts = texts_of(framing, bytes, bytes.size() + 1);
  require(texts_of(framing, bytes, 1 + data[0] / 2) == texts, "cut or whole, it is the same");
  for (const std::string& text : texts) check_text(text);
  return 0;
}
