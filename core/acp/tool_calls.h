// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_calls.h - how an editor shows a tool call: its kind, its title, the files that it is about, what it changes.
//
// Source: agentclientprotocol.com, "Tool Calls".
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "core/codec/json.h"

namespace agentd::acp {

struct CallPlace {
  std::string_view start;   // the directory at which relative paths begin, absolute
  std::string_view within;  // of a subagent's call: its type; empty = the user's agent
};

// Writes the members kind, title, locations, content and rawInput of a call, into the object that is being written.
// `input`: canonical JSON.
void write_call(JsonWriter& out, std::string_view tool, std::string_view input, const CallPlace& place);
// The same of a call that a person decides about, who sees its whole input with every character visible. `reason`: why
// it is asked; empty = it goes without saying.
void write_question(JsonWriter& out, std::string_view tool, std::string_view input, const CallPlace& place,
                    std::string_view reason);

// Writes the member content of a call that has ended: its changes stay in front of the result, whose text is nothing
// but text to the editor, unless a model of ours wrote it.
void write_result(JsonWriter& out, std::string_view tool, std::string_view input, const CallPlace& place,
                  std::string_view text);
// The same of a call whose command runs in that terminal of the editor, which shows its output.
void write_terminal(JsonWriter& out, std::string_view terminal);

}  // namespace agentd::acp
