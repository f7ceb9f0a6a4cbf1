// SPDX-License-Identifier: Apache-2.0
#pragma once
// input_schemas.h - holds a tool call's input to the schema that the tool has declared.
//
// A schema is read when a call first needs it, once for each text. One that cannot be read holds nothing:
// its tool is called as it always was, and the log says why.
//
// Threading: thread-compatible.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/base/log.h"
#include "core/codec/schema.h"
#include "core/conversation/tool_input.h"
#include "core/tools/tool.h"

namespace agentd {

class InputSchemas {
 public:
  explicit InputSchemas(Log& log) : log_(log) {}

  // A member that is null counts as absent where the schema does not allow the null: models write it for
  // what they leave out. kInvalid: the place and the rule, "/limit breaks \"maximum\": 2000".
  Result<void> check(const Tool& tool, const ToolInput& input);

 private:
  const JsonSchema* schema_of(const Tool& tool);

  Log& log_;
  std::map<std::string, std::optional<JsonSchema>, std::less<>> read_;  // by text; nullopt = unreadable
};

}  // namespace agentd
