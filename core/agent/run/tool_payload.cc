// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/tool_payload.h"

#include <utility>

#include "core/base/result.h"

namespace agentd {
namespace {

Result<std::string> admit_input(void* context, std::string_view text) {
  const auto input = ToolInput::make(text, static_cast<CallPayload*>(context)->paths);
  if (input) return input->text();
  return Error{Code::kInvalid, "the input that it wrote " + input.error().message};
}

void rewrite_input(void* context, std::uint32_t, std::string_view text) {
  auto& payload = *static_cast<CallPayload*>(context);
  auto input = ToolInput::make(text, payload.paths);
  AGENTD_ASSERT(input);  // it was admitted
  payload.input = std::move(*input);
  payload.record.input_json = to_abi(payload.input.text());
}

void rewrite_output(void* context, std::uint32_t, std::string_view text) {
  auto& payload = *static_cast<CallPayload*>(context);
  payload.text = std::string(text);
  if (payload.secrets != nullptr) {
    auto passed = payload.secrets->pass(std::move(payload.text));
    payload.text = std::move(passed.text);
    for (const auto& [rule, count] : passed.counts) payload.scrubbed[rule] += count;
  }
  payload.result.content = to_abi(payload.text);
  if (payload.result.error.len != 0) payload.result.error = payload.result.content;
}

}  // namespace

CallPayload::CallPayload(const ToolCall& call, const Tool& tool, InputPaths where)
    : input(call.input), paths(std::move(where)) {
  record.size = sizeof record;
  record.flags = tool.flags;
  record.name = to_abi(call.name);
  record.call_id = to_abi(call.call_id);
  record.input_json = to_abi(input.text());
  record.origin = to_abi(tool.origin);
}

Fired CallPayload::fired_input(std::uint32_t event) {
  Fired fired;
  fired.event = event;
  fired.payload = &record;
  fired.rewrite = rewrite_input;
  fired.admit = admit_input;
  fired.context = this;
  return fired;
}

Fired CallPayload::fired_output(std::uint32_t event) {
  Fired fired;
  fired.event = event;
  fired.payload = &record;
  fired.rewrite = rewrite_output;
  fired.context = this;
  return fired;
}

}  // namespace agentd
