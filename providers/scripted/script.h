// SPDX-License-Identifier: Apache-2.0
#pragma once
// script.h - parses and checks a file of model turns. docs/reference/script.md describes the format.
//
// Threading: values.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/provider.h"

namespace agentd {

struct ScriptedCall {
  std::string id, name, input_json;  // an empty id is generated when the turn is played
};

struct ScriptedError {
  ModelErrorKind kind = ModelErrorKind::kServer;
  std::string message;
  int status = 0;
};

struct ScriptedExpect {
  std::vector<std::string> contains, not_contains;
};

struct ScriptedTurn {
  int line = 0;                  // its line in the file
  std::string purpose = "turn";  // turn, summary, thread
  std::string text, thinking, signature;
  std::vector<ScriptedCall> calls;
  std::optional<StopReason> stop_reason;
  std::optional<ScriptedError> error;
  std::optional<Usage> usage;
  ScriptedExpect expect;
  Milliseconds delay{0}, pace{0};  // before the answer; before each piece of it
};

struct Script {
  std::string path;
  std::vector<ScriptedTurn> turns;
  bool repeats = false;  // after the last turn of a purpose its first one follows
};

// kInvalid says "file:line:column: what" for anything outside the format.
Result<Script> parse_script(std::string_view text, const std::string& path);
Result<Script> load_script(const std::string& path);

}  // namespace agentd
