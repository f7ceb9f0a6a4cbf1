// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_payload.h - a tool call on its way, and the record of it that hooks see. Private to this room.
//
// Threading: the session's thread.

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "core/agent/session/firing.h"
#include "core/agent/states.h"
#include "core/conversation/tool_input.h"
#include "core/scrub/secrets.h"
#include "core/tools/tool.h"

namespace agentd {

// A call before it runs.
struct PreparedCall {
  ToolCall call;
  Tool tool;
  // Why it does not run; absent = nothing speaks against it so far.
  struct Refusal {
    ToolStatus status = ToolStatus::kDenied;
    std::string reason;
  };
  std::optional<Refusal> refusal;
  // A person has to decide; absent = nobody has to, or they have.
  struct Question {
    AskedBy by;
    bool defers = false;  // a hook wants the run to wait, even if somebody is there
    bool anew = false;    // after an answer that does not count: it waits if nobody is there
  };
  std::optional<Question> question;
  void refuse(ToolStatus status, std::string reason) { refusal = Refusal{status, std::move(reason)}; }
};

// The record that hooks see, and the texts that it borrows.
struct CallPayload {
  agentd_tool_call record{};
  agentd_tool_result result{};
  std::string text;  // the output, which hooks may rewrite
  ToolInput input;   // and so they may this
  InputPaths paths;
  // The border, which a hook's text in place of the output passes before the next hook sees it; null = there is none.
  const Secrets* secrets = nullptr;
  std::map<std::string, std::size_t> scrubbed;  // of the hooks' texts, by rule

  // `where`: how the paths of an input that hooks rewrite are resolved.
  CallPayload(const ToolCall& call, const Tool& tool, InputPaths where = {});
  CallPayload(const CallPayload&) = delete;
  CallPayload& operator=(const CallPayload&) = delete;

  // The event before the call, with its input for hooks to rewrite; and the event behind it, with its output.
  Fired fired_input(std::uint32_t event);
  Fired fired_output(std::uint32_t event);
};

}  // namespace agentd
