// SPDX-License-Identifier: Apache-2.0
#include "core/agent/subagent_tool.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::string_view kOrigin = "core";
constexpr std::string_view kName = "task";
constexpr std::string_view kGeneral = "general";
constexpr std::size_t kTypeBytesMax = 64;

bool is_type(std::string_view text) {
  return !text.empty() && text.size() <= kTypeBytesMax && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace

std::string_view subagent_system_text() {
  return "You work on one task for another agent. It reads nothing of your work but your last "
         "message: put "
         "the whole result there.";
}

Tool subagent_tool() {
  Tool tool;
  tool.name = kName;
  tool.title = "Start an agent";
  tool.description =
      "Gives a task to another agent, which has the same tools, starts with an empty conversation "
      "and "
      "works until it is done. The result is its last message. Say in the prompt everything that "
      "it needs "
      "to know and what it shall report.";
  tool.input_schema_json = R"({"type":"object","properties":{"description":{"type":"string",)"
                           R"("description":"the task in three to five words"},"prompt":{"type":"string",)"
                           R"("description":"the task, and what to report"},"agent_type":{"type":"string",)"
                           R"("description":"a name for the kind of agent, such as reviewer"}},)"
                           R"("required":["prompt"]})";
  tool.origin = kOrigin;
  return tool;
}

bool is_subagent_tool(const Tool& tool) { return tool.origin == kOrigin && tool.name == kName; }

Result<SubagentTask> read_subagent_task(std::string_view input_json) {
  AGENTD_TRY(const JsonDocument input, JsonDocument::parse(input_json));
  const auto text = [&](std::string_view key) { return std::string(input.root()[key].string_or({})); };
  SubagentTask out{text("description"), text("prompt"), text("agent_type")};
  if (is_blank(out.prompt)) return Error{Code::kInvalid, "task needs a prompt: what is to be done?"};
  if (out.agent_type.empty()) out.agent_type = kGeneral;
  if (!is_type(out.agent_type))
    return Error{Code::kInvalid, "'" + one_line(out.agent_type, 80) +
                                     "' is not a valid agent_type: use letters, digits, - and _, at most 64"};
  return out;
}

}  // namespace agentd
